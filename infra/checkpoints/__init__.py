"""Files of checkpoints: the folder of a process, and copies that all replicas of a cluster reach."""

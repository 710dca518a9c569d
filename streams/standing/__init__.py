"""Standing questions of a process: their records, their storage port, and the stage that evaluates them."""

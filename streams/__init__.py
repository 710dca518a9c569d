"""What moves through Graphtide, and when it counts as done: messages, ports, stages."""

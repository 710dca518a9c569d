"""Messages, ports and stages: the records that move through Graphtide, and when each is finished."""

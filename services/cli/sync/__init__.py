"""`graphtide sync`: a graph that follows a folder. `scan` finds files, `state` remembers them, `run` publishes."""

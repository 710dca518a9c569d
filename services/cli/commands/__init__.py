"""The commands of `graphtide`, one module per group."""

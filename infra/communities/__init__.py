"""Leiden runs in a child process: the parent's side, and the child's."""

"""Scheduling of work: a fair queue among graphs, and a thread pool shared by it."""

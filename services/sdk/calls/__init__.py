"""Calls of the Python interface: their arguments, their end with the database, and their blocking twins."""

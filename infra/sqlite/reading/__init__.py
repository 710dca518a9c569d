"""Reads of the database: the threads that query it, and the newest records in memory."""

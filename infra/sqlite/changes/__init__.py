"""The change log in the database file: what each commit changed and overwrote."""

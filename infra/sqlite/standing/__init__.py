"""Standing questions in the data folder's database."""

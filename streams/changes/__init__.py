"""The change log of graphs: every commit as one record, with the rows that it overwrote."""

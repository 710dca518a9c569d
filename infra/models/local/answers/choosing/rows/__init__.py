"""Rows of tables that answer: selected by a value or a bound, or by the column that states what is asked for."""

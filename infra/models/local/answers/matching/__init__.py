"""Scores of units for a question (`scoring.py`): coverage of its terms, and values of the type asked for."""

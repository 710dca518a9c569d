"""The choice of the units that answer a question (`selection.py`), and their texts (`rendering.py`)."""

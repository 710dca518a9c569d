"""Grafana's dashboards: what they show stands in `panels.py`, how that becomes JSON in `dashboards.py`."""

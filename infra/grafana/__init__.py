"""Grafana's dashboards: `panels.py` defines their content, `dashboards.py` renders it as JSON."""

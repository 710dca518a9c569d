"""Earlier versions of a live view: the present tables, and what has changed since.

undo_log.py: the rows that commits overwrote · view.py: the view of an earlier version · indexes.py, entity_order.py,
lock.py: its parts
"""

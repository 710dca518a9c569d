"""The roles of cluster processes on any backing: their tasks and their health.

The adapters and servers are elsewhere. The invariant: a role that ends has left its consumer group, saved its indexes
and write models, and committed only finished work.
"""

from graphtide.services.cluster.roles.consolidate import consolidator
from graphtide.services.cluster.roles.extract import extractor
from graphtide.services.cluster.roles.query import replica
from graphtide.services.cluster.roles.role import RoleDependencies, Worker
from graphtide.services.cluster.roles.summarize import summarizer

__all__ = ["ROLES", "RoleDependencies", "Worker", "replica"]

ROLES = {"extract": extractor, "consolidate": consolidator, "summarize": summarizer, "query": replica}
"""The roles with a backing. (The gateway uses query replicas instead: `remote_application.py`.)"""

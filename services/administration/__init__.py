"""Administration of graphs: verification, rebuild, purge, re-embedding, and damage that checks have found."""

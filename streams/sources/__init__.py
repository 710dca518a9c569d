"""Sources: topics of other systems, whose records are converted to documents."""

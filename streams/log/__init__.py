"""The log of records: its topics, the order of revisions on its partitions, and bounded reads of it."""

"""The summarize stage: community reports and entity summaries, written when their sources have changed."""

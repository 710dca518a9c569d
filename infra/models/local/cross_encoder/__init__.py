"""The cross-encoder of answers: MiniLM with a low-rank adapter, which reads a question together with each unit."""

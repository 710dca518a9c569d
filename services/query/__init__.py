"""The processing of questions: places and deadline, retrieval, context, generated answer."""

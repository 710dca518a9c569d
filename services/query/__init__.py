"""One question's path: places and deadline, retrieval, context, generated answer."""

"""The contributions of passages: facts of the publisher, texts to embed, and units with their vectors."""

"""Previews: the change that documents would cause, and its effect on questions, without a write."""

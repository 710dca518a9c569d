"""The fixtures of whoever watches the service."""

from tests.support.watching import tools, watched

__all__ = ["tools", "watched"]

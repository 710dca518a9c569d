"""The fixtures of monitoring tests."""

from tests.support.watching import tools, watched

__all__ = ["tools", "watched"]

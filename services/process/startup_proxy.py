"""The application of a process whose own is still being opened: it says so, and is that application from then on.

Not a queue: whoever asks too early is told to come back. The invariant: no call reaches an application that is not
whole, and none that arrives later than it is turned away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from graphtide.services.api.schema.errors import Unready
from graphtide.services.application import Application, Health

COME_BACK_S = 2.0


class StartupProxy:
    """Stands for an application; `arrive` once it is there."""

    def __init__(self) -> None:
        self._application: Application | None = None
        self._said: Callable[[], str] = lambda: "starting"

    def warming(self, said: Callable[[], str]) -> None:
        """What the process is doing from here on."""
        self._said = said

    def arrive(self, application: Application) -> None:
        self._application = application

    def said(self) -> str:
        """How far the start is, in plain words."""
        return self._said()

    def application(self) -> Application:
        """This, for whoever calls an application. What it has not of its own is the application's."""
        return cast("Application", self)

    async def health(self) -> Health:
        """See Application.health."""
        return await self._application.health() if self._application else Health(False, {"start": self.said()})

    def __getattr__(self, name: str) -> Any:
        if self._application is None:
            raise Unready(f"this process is starting ({self.said()}): come back, or ask another", COME_BACK_S)
        return getattr(self._application, name)

"""Placeholder of an application during the start of its process; it delegates to the application afterwards.

Early calls fail with Unready and are not queued. The invariant: no call reaches an incomplete application, and no call
after its arrival is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from graphtide.services.api.schema.errors import Unready
from graphtide.services.application import Application, Health
from graphtide.services.component_state import degraded

COME_BACK_S = 2.0


class StartupProxy:
    """The placeholder of an application. Call `arrive` once the application is open."""

    def __init__(self) -> None:
        self._application: Application | None = None
        self._progress: Callable[[], str] = lambda: "starting"

    def warming(self, progress: Callable[[], str]) -> None:
        """Set the description of the start's current step."""
        self._progress = progress

    def arrive(self, application: Application) -> None:
        self._application = application

    def progress(self) -> str:
        """Return the progress of the start in plain words."""
        return self._progress()

    def application(self) -> Application:
        """Return this object as an application; attributes that it lacks are the application's."""
        return cast("Application", self)

    async def health(self) -> Health:
        """See Application.health."""
        if self._application is not None:
            return await self._application.health()
        return Health(False, {"start": degraded(self.progress())})

    def __getattr__(self, name: str) -> Any:
        if self._application is None:
            raise Unready(
                f"this process is starting ({self.progress()}): try again later, or use another process", COME_BACK_S
            )
        return getattr(self._application, name)

"""The service that tests of the page share, with its sample; its keys are in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.processes import Service, start_service

GRAPH = "harbour"
SAMPLE = {
    "meridian": "Rosa Delgado is the captain of Meridian. Meridian is a ship of the Tessaly Polar Institute.",
    "station": "The research vessel Meridian supplies Kittiwake Station. Ida Moreau founded Kittiwake Station in 1961.",
    "ida": "Ida Moreau was a glaciologist. Ida Moreau mapped Merrow Glacier. Ida Moreau taught Tor Ruud.",
    "tor": "Tor Ruud leads the Petrel Network. The Petrel Network measures Merrow Glacier.",
}


@dataclass(slots=True)
class PageService:
    """A service with the page: `restart` starts it again on the same port."""

    data: Path
    port: int
    settings: dict[str, str]
    key: str
    service: Service

    @property
    def url(self) -> str:
        return self.service.url

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=f"{self.url}/v1/graphs/", headers={"x-api-key": self.key}, timeout=120)

    def publish(self, graph: str, *documents: Mapping[str, object]) -> None:
        """Publish documents and wait until the graph includes them."""
        with self.client() as http:
            token = http.post(f"{graph}/documents", json=list(documents)).raise_for_status().json()["token"]
            while not http.get(f"{graph}/tokens/{token}", params={"wait_s": 30}).json().get("reached"):
                pass

    def restart(self) -> None:
        self.service = start_service(self.data, self.settings, self.data.parent / "service.log", self.port)

"""`make image-digests`: the digests of other projects' images, requested from their registries by Docker.

Writes them into infra/images.toml, and after each image's name in the files that name it. Needs Docker with buildx and
a network that reaches the registries. Run it when a version changes, read the difference, and commit it.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "infra" / "images.toml"
NAMED_IN = tuple(ROOT / name for name in ("Dockerfile", "compose.yaml", "helm/values.yaml"))
DIGEST = r"sha256:[0-9a-f]{64}"
NAME = re.compile(rf"^\s*(?:FROM|image:)\s+([\w./-]+:[\w.-]+)(?:@({DIGEST}))?(?=\s|$)", re.MULTILINE)
OURS = "graphtide:"


def named() -> dict[str, set[str]]:
    """Return the images that the files name, and their digests there ("" for none)."""
    found: dict[str, set[str]] = {}
    for file in NAMED_IN:
        for image, digest in NAME.findall(file.read_text()):
            if not image.startswith(OURS):
                found.setdefault(image, set()).add(digest)
    return found


def known() -> dict[str, str]:
    """Return the digest of each image in infra/images.toml; "" where it is not known."""
    return dict(tomllib.loads(IMAGES.read_text())["digests"])


def write(digests: dict[str, str], text: str) -> str:
    """Return the text of a file with the digest after the name of each image that has one."""
    for image, digest in digests.items():
        suffix = f"@{digest}" if digest else ""
        text = re.sub(rf"{re.escape(image)}(?:@{DIGEST})?(?=[\s]|$)", f"{image}{suffix}", text, flags=re.MULTILINE)
    return text


def main() -> None:
    """Request the digest of every named image, and write all files."""
    digests = {image: _asked(image) for image in sorted(named())}
    for file in NAMED_IN:
        file.write_text(write(digests, file.read_text()))
    head = IMAGES.read_text().partition("[digests]")[0]
    IMAGES.write_text(head + "[digests]\n" + "".join(f'"{name}" = "{digest}"\n' for name, digest in digests.items()))


def _asked(image: str) -> str:
    command = ["docker", "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}"]
    digest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    if not re.fullmatch(DIGEST, digest):
        raise SystemExit(f"{image}: the registry answered {digest!r}, which is no digest")
    return digest


if __name__ == "__main__":
    main()

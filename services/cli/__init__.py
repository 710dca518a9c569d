"""The command line `graphtide`. `main` is the console script; the commands are in `top_level` and `commands`.

Imports are late in all modules below, so that help and completion respond quickly.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line and exit with one of the codes of `services/cli/exit_codes.py`."""
    from graphtide.services.cli.top_level.app import run

    run()

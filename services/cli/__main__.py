"""Entry point of `python -m graphtide.services.cli`, for machines without the console script."""

from graphtide.services.cli import main

main()

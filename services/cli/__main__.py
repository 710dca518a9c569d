"""`python -m graphtide.services.cli` is `graphtide`, where the console script is not installed."""

from graphtide.services.cli import main

main()

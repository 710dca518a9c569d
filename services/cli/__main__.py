"""`python -m services.cli` is `graphtide`, where the console script is not installed."""

from services.cli import main

main()

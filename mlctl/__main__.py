"""`python -m mlctl`."""

from mlctl.cli import main

main()

"""`python -m mlctl`."""

import os
import sys

# `-m` lets modules be imported from the folder at hand, which may be a stranger's.
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:  # noqa: PTH109  # no import more
    del sys.path[0]

from mlctl.cli import main  # what it imports must not be found there

main()

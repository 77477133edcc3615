"""What every command uses: flags, session, output, exit codes."""

from mlctl.cli.parser.arguments import InvalidValue, TypedFlag, UsageError
from mlctl.cli.parser.declare import argument, flag
from mlctl.cli.shell.command import Group
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.session import Session

__all__ = [
    "Exit",
    "Group",
    "InvalidValue",
    "Session",
    "TypedFlag",
    "UsageError",
    "argument",
    "flag",
]

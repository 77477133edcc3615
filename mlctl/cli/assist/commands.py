"""`mlctl lsp` and `mlctl mcp`: servers on standard input and output."""

from __future__ import annotations

import os
import sys

from mlctl.cli.shell import Session
from mlctl.service_errors import Permanent


def lsp(session: Session) -> None:
    """Run a language server for editors: diagnostics, completion, hover help and fixes."""
    try:
        from mlctl.cli.assist.server import server
    except ImportError:
        raise _missing_extra("lsp") from None
    _note(session, "an editor")
    # It closes its output, but the command's own standard output must stay open.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        server().start_io(stdout=answers)


def mcp(session: Session) -> None:
    """Run an MCP server for agents: validate, plan, explain, simulate and drift, read-only."""
    try:
        from mlctl.cli.assist.tools import server
    except ImportError:
        raise _missing_extra("mcp") from None
    _note(session, "an agent's program")
    server().run("stdio")


def _note(session: Session, whose: str) -> None:
    """Explain on a terminal why nothing happens."""
    if sys.stdin.isatty():
        session.say(f"note: {whose} starts this and talks to it; Ctrl-C ends it")


def _missing_extra(extra: str) -> Permanent:
    return Permanent(
        "MissingExtra", f'`mlctl {extra}` needs the extra: pip install "mlctl-azure[{extra}]"'
    )


COMMANDS = {"lsp": lsp, "mcp": mcp}

"""`mlctl az-shim`: a shell function that runs `az ml` commands of scripts with mlctl."""

from __future__ import annotations

import typer

from mlctl.cli.az import commands, job_commands
from mlctl.cli.exits import Exit
from mlctl.cli.parser import tree
from mlctl.cli.parser.command import command
from mlctl.cli.session import Session
from mlctl.kinds import DOCUMENTS, JOB

_SHIM = """\
# sh, bash and zsh; put it into a script or a profile:  eval "$(mlctl az-shim)"
# What mlctl has of `az ml` goes to mlctl; everything else goes to the real az, if there is one.
az() {{
  if [ "${{1-}}" = ml ]; then
    case "${{2-}} ${{3-}}" in
{cases}
        shift
        mlctl "$@"
        return
        ;;
    esac
  fi
  if (unset -f az; command -v az) >/dev/null 2>&1; then
    command az "$@"
    return
  fi
  case "${{1-}} ${{2-}}" in
    configure*) mlctl "$@" ;;
    ml*)
      shift
      mlctl "$@"
      ;;
    *)
      echo "az ${{1-}}: mlctl stands for 'az ml' only, and there is no az on the path." >&2
      return 127
      ;;
  esac
}}
"""


def register(app: typer.Typer, verb: str) -> None:
    """Add the command."""
    command(app, verb)(az_shim)


def az_shim(session: Session) -> Exit:
    """Print a shell function `az`: `az ml ...` goes to mlctl, the rest to the real az."""
    app = typer.Typer()
    for kind in DOCUMENTS.values():
        if kind.az:
            (job_commands if kind is JOB else commands).register(app, kind.name)
    lines = [
        "|".join(f'"{group} {verb}"' for verb in node.children) + " | \\"
        for group, node in tree.read(app).children.items()
    ]
    lines = [f"      {line}" for line in lines]
    lines[-1] = lines[-1].removesuffix(" | \\") + ")"
    session.out_data(_SHIM.format(cases="\n".join(lines)))
    return Exit.OK

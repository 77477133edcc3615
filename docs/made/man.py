"""`mlctl.1`, and the completion scripts of shells: what a package puts beside the program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from mlctl.cli.parser.completion import script
from mlctl.cli.parser.tree import CommandNode

_HEAD = """\
.\\" Generated from the commands themselves; `make docs` writes it.
.TH MLCTL 1 "" mlctl "User Commands"
.SH NAME
mlctl \\- declarative infrastructure as code for Azure Machine Learning
.SH SYNOPSIS
.B mlctl
.I COMMAND
.RI [ ARGUMENTS ]
.SH DESCRIPTION
"""
_TAIL = """\
.SH FILES
.TP
.I mlctl.yml
What a project says of all files in its folder: workspace, environments, policies.
.TP
.I .mlctl/local.db
The simulated cloud of the local backend.
.TP
.I ~/.config/mlctl/config
Defaults, as \\fBmlctl configure\\fR writes them.
.SH ENVIRONMENT
.TP
.BR MLCTL_BACKEND ", " MLCTL_SUBSCRIPTION ", " MLCTL_RESOURCE_GROUP ", " MLCTL_WORKSPACE
The backend, and the parts of the workspace's name.
.TP
.B MLCTL_ENV
The environment of
.I mlctl.yml
where \\fB\\-\\-env\\fR is not given.
.TP
.B MLCTL_LOCAL_DB
Where the simulated cloud is.
.TP
.B MLCTL_JOURNAL_DIR
Where an apply says what it has yet to put back; else
.IR .mlctl/journal .
.TP
.BR NO_COLOR
No colours, whatever the terminal.
.SH SEE ALSO
.BR az (1)
.PP
\\fBmlctl\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR; https://github.com/mlctl/mlctl
"""


def page(root: CommandNode) -> str:
    """The manual page, as roff."""
    return "\n".join([_HEAD + _text(root.text), *_commands(root), *_codes(), _TAIL])


def _commands(root: CommandNode) -> Iterator[str]:
    yield ".SH COMMANDS"
    for node in root.commands():
        flags = " ".join(f"\\fI{_text(argument.name)}\\fR" for argument in node.positionals)
        yield f".TP\n\\fB{_text(' '.join(node.path))}\\fR {flags}\n{_text(node.summary)}".rstrip()


def _codes() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    page = Path(__file__).parents[1].joinpath("exit-codes.md").read_text(encoding="utf-8")
    for code, verbs, meaning in re.findall(r"^\| (\d+) \| (.+?) \| (.+) \|$", page, re.MULTILINE):
        yield f".TP\n\\fB{code}\\fR ({_text(verbs)})\n{_text(meaning)}"


def _text(text: str) -> str:
    """Text that roff prints as it is."""
    plain = " ".join(text.split()).replace("`", "").replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain[:1] in (".", "'") else plain


COMPLETIONS: Mapping[str, str] = {
    "mlctl.bash": script("bash"),
    "_mlctl": script("zsh"),
    "mlctl.fish": script("fish"),
}

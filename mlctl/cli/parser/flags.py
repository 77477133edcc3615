"""How flags are declared, and those that many az-style commands take."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from mlctl.cli.output import OutputFormat
from mlctl.cli.parser.arguments import Flagged
from mlctl.cli.parser.tree import ARGUMENTS

_INSTANCE = "ComputeInstance Arguments"
_POLICY = "Global Policy Arguments"
_GLOBAL = "Global Arguments"
_UPDATE = "Generic Update Arguments"


def option(
    name: str,
    *names: str,
    kind: Any = str | None,
    help: str,  # noqa: A002  # typer's word
    metavar: str | None = None,
    panel: str = ARGUMENTS,
    words: Sequence[str] = (),
    default: Any = None,
) -> inspect.Parameter:
    """A parameter that is a flag; `default` `...` makes it a required one."""
    complete = (lambda: list(words)) if words else None
    info = typer.Option(
        *names, help=help, metavar=metavar, rich_help_panel=panel, autocompletion=complete
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is ... else default,
        annotation=Annotated[kind, info],
    )


def switch(name: str, *names: str, help: str, panel: str = ARGUMENTS) -> inspect.Parameter:  # noqa: A002
    """A parameter that is true where its flag stands."""
    return option(name, *names, kind=bool, help=help, panel=panel, default=False)


def words_of(typed: Sequence[Flagged]) -> list[str]:
    """The values of a flag of several values, wherever it stands."""
    return [word for one in typed for word in one.words if word]


# What every az-style command takes, or every one that writes, or every one that updates.
OUTPUT = option(
    "output",
    "--output",
    "-o",
    kind=OutputFormat | None,
    help="Output format; json unless configured.",
    panel=_GLOBAL,
)
QUERY = option(
    "query", "--query", help="JMESPath query of the output.", metavar="JMESPATH", panel=_GLOBAL
)
POLICY = (
    switch(
        "acquire_policy_token",
        "--acquire-policy-token",
        help="Taken for az's sake; it means nothing here.",
        panel=_POLICY,
    ),
    option(
        "change_reference",
        "--change-reference",
        help="Taken for az's sake; it means nothing here.",
        panel=_POLICY,
    ),
)
NO_WAIT = switch(
    "no_wait", "--no-wait", help="Do not wait until it is done: return once it is accepted."
)
DRY_RUN = switch("dry_run", "--dry-run", help="Print what would change, and write nothing.")
REPLACE = switch(
    "replace", "--replace", help="Delete and create anew where a change cannot be made in place."
)
IF_NOT_EXISTS = switch(
    "if_not_exists", "--if-not-exists", help="Leave what is there as it is, and print it."
)
YES = switch("yes", "--yes", "-y", help="Do not prompt for confirmation.")


def _set(panel: str = ARGUMENTS) -> inspect.Parameter:
    return option(
        "set_",
        "--set",
        kind=list[str] | None,
        metavar="KEY=VALUE ...",
        help="Set a field by its path: `tags.team=ds`, `settings.retry_settings.timeout=60`."
        ' A key with a dot is quoted: `tags."a.b"=x`.',
        panel=panel,
    )


SET = _set()
GENERIC = (
    _set(_UPDATE),
    option(
        "add",
        "--add",
        kind=list[str] | None,
        metavar="LIST VALUE|KEY=VALUE ...",
        help="Add to a list: the path of the list, then a value or the pairs of an object.",
        panel=_UPDATE,
    ),
    option(
        "remove",
        "--remove",
        kind=list[str] | None,
        metavar="PATH [INDEX] ...",
        help="Remove a field, a key or an element of a list: `tags.team`, `tags`, `LIST 0`.",
        panel=_UPDATE,
    ),
    switch(
        "force_string",
        "--force-string",
        help="Take the values of --set and --add as text.",
        panel=_UPDATE,
    ),
)
INSTANCE_ONLY = tuple(
    option(name, f"--{name.replace('_', '-')}", help=text, panel=_INSTANCE)
    for name, text in (
        ("user_object_id", "Of compute instances only; refused for a cluster."),
        ("user_tenant_id", "Of compute instances only; refused for a cluster."),
    )
)

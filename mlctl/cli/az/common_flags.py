"""The flags that many az-style commands take."""

from __future__ import annotations

import inspect

from mlctl.cli.output import OutputFormat
from mlctl.cli.parser.command import option, switch
from mlctl.cli.parser.tree import ARGUMENTS, GLOBAL

_INSTANCE = "ComputeInstance Arguments"
_POLICY = "Global Policy Arguments"
_UPDATE = "Generic Update Arguments"


# What every az-style command takes, or every one that writes, or every one that updates.
OUTPUT = option(
    "output",
    "--output",
    "-o",
    type_=OutputFormat | None,
    help="Output format; json unless configured.",
    panel=GLOBAL,
)
QUERY = option(
    "query", "--query", help="JMESPath query of the output.", metavar="JMESPATH", panel=GLOBAL
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
        type_=list[str] | None,
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
        type_=list[str] | None,
        metavar="LIST VALUE|KEY=VALUE ...",
        help="Add to a list: the path of the list, then a value or the pairs of an object.",
        panel=_UPDATE,
    ),
    option(
        "remove",
        "--remove",
        type_=list[str] | None,
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

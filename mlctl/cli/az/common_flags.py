"""The flags that many az-style commands take."""

from __future__ import annotations

from typing import Annotated

from mlctl.cli.shell import OptionSpec, TypedFlag, flag
from mlctl.cli.shell.command import option, parameters, switch
from mlctl.cli.shell.output import OutputArgs
from mlctl.dataclasses import dataclass

_INSTANCE = "ComputeInstance Arguments"
_POLICY = "Global Policy Arguments"
_UPDATE = "Generic Update Arguments"


# What every az-style command takes, or every one that writes, or every one that updates.
OUTPUT = tuple(parameters(OutputArgs))


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyArgs:
    """Flags of az that are accepted and ignored."""

    acquire_policy_token: bool = flag(
        "Taken for az's sake; it means nothing here.", default=False, panel=_POLICY
    )
    change_reference: str | None = flag(
        "Taken for az's sake; it means nothing here.", panel=_POLICY
    )


POLICY = tuple(parameters(PolicyArgs))
NO_WAIT = switch(
    "no_wait", "--no-wait", help="Do not wait until it is done: return once it is accepted."
)
DRY_RUN = switch("dry_run", "--dry-run", help="Print what would change, and write nothing.")
REPLACE = switch(
    "replace", "--replace", help="Delete and create again where a change cannot be made in place."
)
IF_NOT_EXISTS = switch(
    "if_not_exists", "--if-not-exists", help="Leave what is there as it is, and print it."
)
YES = switch("yes", "--yes", "-y", help="Do not prompt for confirmation.")


_SET_METAVAR = "KEY=VALUE ..."
_SET_HELP = (
    "Set a field by its path: `tags.team=ds`, `settings.retry_settings.timeout=60`."
    ' A key with a dot is quoted: `tags."a.b"=x`.'
)
SetFlag = Annotated[
    list[TypedFlag] | None, OptionSpec("--set", metavar=_SET_METAVAR, help=_SET_HELP)
]
SET = option("set_", "--set", metavar=_SET_METAVAR, help=_SET_HELP)
GENERIC = (
    option("set_", "--set", metavar=_SET_METAVAR, help=_SET_HELP, panel=_UPDATE),
    option(
        "add",
        "--add",
        metavar="LIST VALUE|KEY=VALUE ...",
        help="Add to a list: the path of the list, then a value or the pairs of an object.",
        panel=_UPDATE,
    ),
    option(
        "remove",
        "--remove",
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

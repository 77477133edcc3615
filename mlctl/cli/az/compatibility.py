"""How mlctl supports each flag of `az ml`, and the page that lists that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from mlctl.cli.parser.tree import CommandNode, Option
from mlctl.kinds import KINDS

# Why a flag, or a whole command, is not here. A command line that uses the flag is told.
_REGISTRY = (
    "registries are read, not written: create it in the workspace, and share it from there by"
    " `az ml ... share` or by the studio; files name it by `azureml://registries/...`"
)
_MANAGED = "of a whole registry, which Bicep or Terraform makes; mlctl reads what is in it"
_JOBS = ("cancel", "download", "stream", "archive", "restore")
_POLICY = "it means nothing here"
_POLICY_FLAGS = ("--acquire-policy-token", "--change-reference")
_NO_DATA = "what happens is shown; there is no data to print"
_INSTANCES = "of compute instances; mlctl manages clusters"
ABSENT_FLAGS = {
    **{
        f"{kind.name} {verb} --registry-name": _REGISTRY
        for kind in KINDS.values()
        for verb in ("create", "update", "archive", "restore", "share", "delete")
        if kind.versioned
    },
    "--user-object-id": _INSTANCES,
    "--user-tenant-id": _INSTANCES,
    **{f"job {verb} {flag}": _POLICY for verb in _JOBS for flag in _POLICY_FLAGS},
    **{f"job {verb} {flag}": _NO_DATA for verb in _JOBS[1:] for flag in ("--output", "--query")},
    "job create --skip-validation": "what az would refuse is refused before anything is sent",
    **{
        f"{kind.name} {what}": why
        for kind in KINDS.values()
        for what, why in kind.az.not_here.items()
        if " --" in what
    },
}
_ATTACHED = "of computes that were made elsewhere; mlctl manages clusters"
_SERVICES = "of machines of Azure; the simulated ones run no program"
ABSENT_COMMANDS = {
    "compute attach": _ATTACHED,
    "compute detach": _ATTACHED,
    "compute connect-ssh": _INSTANCES,
    "compute enable-sso": _INSTANCES,
    "compute restart": _INSTANCES,
    "compute start": _INSTANCES,
    "compute stop": _INSTANCES,
    "model download": "what was uploaded can be read in the datastore that `model show` names",
    "model package": "a preview for online endpoints",
    "model share": _REGISTRY,
    "environment share": _REGISTRY,
    "job connect-ssh": _SERVICES,
    "job show-services": _SERVICES,
    "job update": "a job that was submitted stays as it is",
    "job validate": "`mlctl validate` does it, for all files at once",
    **{
        f"{kind.name} {what}": why
        for kind in KINDS.values()
        for what, why in kind.az.not_here.items()
        if " --" not in what
    },
}

_BICEP = (
    "mlctl manages what is in a workspace; make one by Bicep, `resource ws"
    " 'Microsoft.MachineLearningServices/workspaces@2024-04-01'` with `location`, `identity` and"
    " `properties: {storageAccount, keyVault, applicationInsights}`, or by Terraform's"
    " `azurerm_machine_learning_workspace`"
)
_KEYS = "keys belong into no script; let programs log in with an identity"
_OTHERS = "mlctl manages clusters, inference and training"
_DATASTORES = "the workspace's own datastores are used; others are made by Bicep or Terraform"
# Of azure-cli-ml, the first extension, which was retired in September 2025 (learn.microsoft.com,
# azure/machine-learning/how-to-migrate-from-v1).
_V1 = "a command of the first extension (azure-cli-ml), which is retired; write `{}`"
_OF_V1 = {
    "model register": "model create",
    "model deploy": "batch-deployment create",
    "environment register": "environment create",
    "environment download": "environment show",
    "workspace set": "configure --defaults workspace=NAME group=NAME",
    "workspace share": "az role assignment create",
    "component publish": "component create",
    "dataset register": "data create",
    "run submit-script": "job create",
    "computetarget create": "compute create",
}
# Groups of az, and commands of groups that az has more of, which no page lists.
ABSENT_ELSEWHERE = {
    **dict.fromkeys(("serverless-endpoint", "schedule", "marketplace-subscription"), _OTHERS),
    **dict.fromkeys(("capability-host", "feature-set", "feature-store"), _OTHERS),
    "feature-store-entity": _OTHERS,
    "registry": _MANAGED,
    "connection": "of services outside of the workspace; Bicep or Terraform makes them",
    "datastore": _DATASTORES,
    "index": _OTHERS,
    **dict.fromkeys(("workspace create", "workspace update", "workspace delete"), _BICEP),
    **dict.fromkeys(("workspace provision-network", "workspace diagnose"), _BICEP),
    **dict.fromkeys(("workspace list-keys", "workspace sync-keys"), _KEYS),
    **{command: _V1.format(instead) for command, instead in _OF_V1.items()},
}

ABSENT = {**ABSENT_FLAGS, **ABSENT_COMMANDS, **ABSENT_ELSEWHERE}

# What is better than in az: by flag, or by command and flag.
_COERCED = (
    "several pairs, repeatable; values become what the field's type says, keys with dots can be"
    " quoted, an unknown path is an error with a suggestion"
)
_PROVED = "read back and proved; refused together with --no-wait"
_OVER = "over what the file says; an error points at the flag"
BETTER = {
    "--set": _COERCED,
    "--add": "elements become what the list's schema says",
    "--remove": "what has no default is really cleared; several paths by repeating it",
    "--set-default": _PROVED,
    "--no-wait": "what other steps need is still waited for",
    "--file -f": "`-` reads standard input; every error has its line and column",
    "--tier": "`LowPriority` and any letter case are taken too",
    "--identity-type": "`system_assigned` and any letter case are taken too",
    "compute create --type -t": "any letter case is taken; `AmlCompute` alone is here",
    "model create --type -t": "any letter case is taken",
    "--tags": 'keys may hold dots; `""` clears',
    "--query": "read before anything is written; JSON of nothing is `null`",
    "--output -o": "tables have the columns that people need; progress is never on stdout",
    "--only-show-errors": "stderr is empty where nothing failed",
    "--debug": "an internal error alone has a traceback",
    "--ssh-key-value": "never shown again, not even in an error",
    "--admin-password": "never shown again, not even in an error",
    "compute create --name -n": _OVER,
    "compute show --name -n": "exits with 3 where there is none, and says what to do",
    "compute update --min-instances": "no default is applied",
    "compute update --max-instances": "no default is applied",
    "compute update --idle-time-before-scale-down -d": "no default is applied",
    "batch-endpoint update --defaults": "an unknown key is an error",
    "batch-endpoint update --file -f": "laid over the live one: what the file leaves out stays",
    "batch-deployment update --file -f": "laid over the live one: what the file leaves out stays",
    "--all-traffic": _PROVED,
    "online-endpoint update --file -f": "laid over the live one: what the file leaves out stays,"
    " traffic too",
    "online-deployment update --file -f": "laid over the live one: what the file leaves out stays",
    "--traffic -r": "what is no whole number is an error before anything is sent",
    "--mirror-traffic": "what is no whole number is an error before anything is sent",
}


class Support(Enum):
    """Whether mlctl has a flag of az."""

    SAME = "same"
    BETTER = "better"
    ABSENT = "not here"


@dataclass(frozen=True, slots=True)
class AzFlag:
    """A flag of az: `compute create`, its names in az's order, whether az requires it.

    A command without flags has one without names. Every command has the `shared` ones.
    """

    command: str
    names: tuple[str, ...]
    required: bool
    shared: bool = False


@dataclass(frozen=True, slots=True)
class FlagSupport:
    """Whether mlctl has a flag, and how it is better or why it is absent."""

    flag: AzFlag
    support: Support
    why: str = ""


def az_flags(text: str) -> list[AzFlag]:
    """The flags of the data file, those of every command given to each."""
    import csv

    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    flags = [
        AzFlag(row["command"], tuple(row["flag"].split()), row["required"] == "yes") for row in rows
    ]
    own = [one for one in flags if not one.command.startswith("*")]
    commands = dict.fromkeys(one.command for one in own)
    shared = [
        AzFlag(command, one.names, one.required, shared=True)
        for command in commands
        for one in flags
        if one.command == "*"
        or (one.command == "* but list and show" and command.split()[1] not in ("list", "show"))
    ]
    return [*own, *shared]


def compare_flags(root: CommandNode, flags: Iterable[AzFlag]) -> Iterator[FlagSupport]:
    """The support of each flag.

    Raises:
        ValueError: a flag is absent, or lacks one of its names, and no reason is given.
    """
    ours = {" ".join(node.path): node for node in root.commands()}
    for flag in flags:
        node = ours.get(flag.command)
        if node is None:
            yield FlagSupport(flag, Support.ABSENT, _why(flag, ABSENT_COMMANDS.get(flag.command)))
        elif not flag.names or (_absent(flag) is None and _has(node, flag)):
            better = _better(flag)
            yield FlagSupport(flag, Support.BETTER if better else Support.SAME, better)
        else:
            yield FlagSupport(flag, Support.ABSENT, _why(flag, _absent(flag)))


def page(found: Iterable[FlagSupport], lines: str) -> str:
    """The page as Markdown; `lines` says what becomes of published lines."""
    given = list(found)
    parts = [_HEAD, _counts(given), lines, f"## Every command\n\n{_shared(given)}"]
    for name in dict.fromkeys(one.flag.command.split()[0] for one in given):
        of_group = [one for one in given if one.flag.command.split()[0] == name]
        parts.append(f"## {name}\n\n{_table(of_group)}")
    return "\n".join(parts)


_HEAD = """\
# `az ml` and mlctl

<!-- Generated from the command tree and docs/data/az-ml.csv; `make docs` writes it. -->

Each flag of `az ml` for the kinds that mlctl has. **same**: name, short form and meaning are az's.
**better**: the same, and more. **not here**: refused with the reason.

`eval "$(mlctl az-shim)"` puts an executable `az` first on the path: scripts that say `az ml` run
with mlctl, and while the backend is local nothing they say reaches Azure.

mlctl takes what az takes: the unambiguous beginning of a flag, several values after `--set`,
`--add`, `--remove`, `--tags` and `--user-assigned-identities`, `@FILE` for the content of a file.
Every verb that writes takes `--dry-run`, and what it does is planned and applied as `mlctl apply`
does it.
"""


def _counts(given: list[FlagSupport]) -> str:
    once = {one.flag.names: one for one in _here(given)}
    own = [one for one in given if one.flag.names and not one.flag.shared]
    counted = Counter(one.support for one in (*own, *once.values()))
    commands = {one.flag.command: one.support for one in given}
    here = sum(support is not Support.ABSENT for support in commands.values())
    numbers = ", ".join(f"{counted[support]} {support.value}" for support in Support)
    return (
        f"**{here} of {len(commands)} commands are here."
        f" Of {sum(counted.values())} flags: {numbers}.**\n"
    )


def _table(of_group: list[FlagSupport]) -> str:
    rows = ["| command | flag | here | how, or why not |", "|---|---|---|---|"]
    absent = dict.fromkeys(
        (one.flag.command, one.why) for one in of_group if one.flag.command in ABSENT_COMMANDS
    )
    rows += [
        _row(one)
        for one in of_group
        if one.flag.names and not one.flag.shared and one.flag.command not in ABSENT_COMMANDS
    ]
    rows += [f"| {command} | all | not here | {why} |" for command, why in absent]
    return "\n".join(rows) + "\n"


def _shared(given: list[FlagSupport]) -> str:
    rows = ["| flag | here | how, or why not |", "|---|---|---|"]
    once = {one.flag.names: one for one in _here(given)}
    rows += [_row(one).removeprefix(f"| {one.flag.command} ") for one in once.values()]
    return "\n".join(rows) + "\n"


def _here(given: list[FlagSupport]) -> list[FlagSupport]:
    """The flags that every command has."""
    return [one for one in given if one.flag.shared and one.support is not Support.ABSENT]


def _row(one: FlagSupport) -> str:
    names = " ".join(f"`{name}`" for name in one.flag.names)
    support = f"**{one.support.value}**" if one.support is Support.BETTER else one.support.value
    return f"| {one.flag.command} | {names} | {support} | {one.why} |"


def _has(node: CommandNode, flag: AzFlag) -> bool:
    return any(
        set(flag.names) <= set(one.names) and _no_stricter(one, flag) for one in node.options
    )


def _no_stricter(one: Option, flag: AzFlag) -> bool:
    return flag.required or not one.required


def _absent(flag: AzFlag) -> str | None:
    return ABSENT_FLAGS.get(f"{flag.command} {flag.names[0]}", ABSENT_FLAGS.get(flag.names[0]))


def _better(flag: AzFlag) -> str:
    names = " ".join(flag.names)
    return BETTER.get(f"{flag.command} {names}", BETTER.get(names, ""))


def _why(flag: AzFlag, why: str | None) -> str:
    if why is None:
        raise ValueError(
            f"`az ml {flag.command}` has {' '.join(flag.names)}: say why it is not here"
        )
    return why

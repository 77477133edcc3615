"""The examples of every command: help shows them, `docs/cli.md` prints them, a test runs them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from mlctl.dataclasses import dataclass
from mlctl.kinds import KINDS
from mlctl.schema.text import with_article


@dataclass(frozen=True, slots=True)
class Example:
    """A command line to copy, and what it does."""

    title: str
    command: str


def examples(path: Sequence[str]) -> list[Example]:
    """The examples of the command at a path: `("compute", "create")`."""
    listed = all_examples().get(" ".join(path)) or _of_sample(path)
    return [Example(title, command.strip()) for title, command in listed.items()]


def _of_sample(path: Sequence[str]) -> Mapping[str, str]:
    """The examples of a command of a kind that has a sample, and none of its own here."""
    kind = KINDS.get(path[0]) if len(path) > 1 else None
    if kind is None or not kind.az.sample[0] or path[1] not in _OF_KIND:
        return {}
    file, name = kind.az.sample
    words = {"kind": kind.name, "one": with_article(kind.title), "many": f"{kind.title}s"}
    return {
        title.format(**words): command.format(**words, file=file, name=name)
        for title, command in _OF_KIND[path[1]].items()
    }


# Title to command line, by the verb: the examples of every kind.
_OF_KIND: Mapping[str, Mapping[str, str]] = {
    "create": {
        "Create {one} from a file": "mlctl {kind} create -f {file}",
        "See what would be created": "mlctl {kind} create -f {file} --dry-run",
    },
    "update": {
        "Describe {one}": 'mlctl {kind} update -n {name} --set description="reviewed in May"',
        "See what an update would change": (
            "mlctl {kind} update -n {name} --set description=reviewed --dry-run"
        ),
    },
    "show": {
        "Show {one}": "mlctl {kind} show -n {name}",
        "Print its ARM id": "mlctl {kind} show -n {name} --query id -o tsv",
    },
    "list": {
        "List the {many} as a table": "mlctl {kind} list -o table",
        "Print their names": 'mlctl {kind} list --query "[].name" -o tsv',
    },
    "delete": {
        "Delete {one} without being asked": "mlctl {kind} delete -n {name} --yes",
        "See what a delete would do": "mlctl {kind} delete -n {name} --dry-run",
    },
    "archive": {
        "Leave all versions out of lists": "mlctl {kind} archive -n {name}",
        "Archive one version": "mlctl {kind} archive -n {name} -v 1",
    },
    "restore": {
        "Have all versions in lists again": "mlctl {kind} restore -n {name}",
        "Restore one version": "mlctl {kind} restore -n {name} -v 1",
    },
    "wait": {
        "Wait until it is made": "mlctl {kind} wait -n {name} --created",
        "Wait until it exists": "mlctl {kind} wait -n {name} --exists",
    },
}


@cache
def all_examples() -> Mapping[str, Mapping[str, str]]:
    """Title to command line, by the command."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return tomllib.loads(text)

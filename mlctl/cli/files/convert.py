"""`mlctl convert`: Batch Pools of a retired service to compute clusters."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase
from textwrap import wrap

from mlctl import files, source
from mlctl.cli.files.validate import Paths
from mlctl.cli.shell import Exit, Session, flag
from mlctl.cli.shell.rule_choice import new_report
from mlctl.kinds import Resource
from mlctl.pointer import Data
from mlctl.source import SourceFile

SIZE = "Standard_D4s_v3"
_SCHEMA = "https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json"
_LONGEST = 24  # characters of a cluster's name, by its documentation
_SHORTEST = 3
_WIDTH = 100
_IDLE = 120


def cluster_of(pool: Resource, name: str, size: str = SIZE) -> str:
    """Return the document of a cluster called `name` that replaces a valid pool."""
    vms = int(pool.effective("vm_count"))
    fields: dict[str, Data] = {"name": name, "type": "amlcompute"}
    if pool.text("description"):
        fields["description"] = pool.text("description")
    fields |= {
        "size": size,
        "tier": "dedicated",
        "min_instances": vms,
        "max_instances": max(vms, 1),
        "idle_time_before_scale_down": _IDLE,
    }
    tags = pool.get("tags")
    if isinstance(tags, dict) and tags:
        fields["tags"] = {key: _text(value) for key, value in tags.items()}
    remarks = {
        "name": _renamed(pool.address.name, name),
        "size": "A pool did not name the size of its VMs; `mlctl compute list-sizes` has a choice.",
        "tier": "Like the VMs of a pool, these are never preempted.",
        "min_instances": _scale(vms),
    }
    service = pool.kind.retired_service or ""
    head = f"The cluster in place of the Batch Pool `{pool.address.name}`. {service}."
    return "".join(
        [
            _comment(head),
            f"$schema: {_SCHEMA}\n",
            *(
                _comment(remarks.get(key, "")) + source.dump_inert({key: fields[key]})
                for key in fields
            ),
            "\n# What differs:\n",
            *(
                _comment(text.format(name=name, idle=_IDLE), "# - ", "#   ")
                for text in _table()["differences"]
            ),
        ]
    )


def cluster_names(pools: Iterable[str]) -> Iterator[str]:
    """Return a valid, unique cluster name for each pool."""
    used: set[str] = set()
    for pool in pools:
        valid = _valid_name(pool)
        name, ends = valid, _ends()
        while name.casefold() in used:
            end = next(ends)
            name = valid[: _LONGEST - len(end)].rstrip("-") + end
        used.add(name.casefold())
        yield name


def _valid_name(pool: str) -> str:
    """Convert a pool's name to a cluster's: not too long, and a letter after every dash."""
    name = pool[:_LONGEST].rstrip("-")
    tail = re.search(r"(?:-[^A-Za-z-]*)+$", name)  # dashes followed only by digits
    if tail is not None:
        name = name[: tail.start()] + tail[0].replace("-", "")
    return name if len(name) >= _SHORTEST else f"{name}-pool"


def _ends() -> Iterator[str]:
    """Return a, b, ... z, aa, ab, ..."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _renamed(pool: str, name: str) -> str:
    if pool == name:
        return ""
    return (
        f"The pool was `{pool}`. Names of clusters have {_SHORTEST} to {_LONGEST} characters, and a"
        " letter after every dash."
    )


def _scale(vms: int) -> str:
    if vms == 0:
        return "The pool had no VMs. A cluster may grow, and has no node while no job runs."
    return "As many as the pool had, all the time: the cluster does not scale."


def _table() -> dict[str, list[str]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _text(value: Data) -> str:
    """Return the value of a tag as text, which a cluster's tags must be."""
    return value if isinstance(value, str) else json.dumps(value)


def _comment(text: str, first: str = "# ", following: str = "# ") -> str:
    """Wrap `text` as lines of comment; "" for an empty text."""
    lines = wrap(
        " ".join(text.split()),
        _WIDTH,
        initial_indent=first,
        subsequent_indent=following,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "".join(f"{line}\n" for line in lines)


_NAME = "<converted>"


def convert(
    session: Session,
    paths: Paths,
    out: Path | None = flag("-o", metavar="FILE"),
    size: str = flag(default=SIZE, metavar="SIZE"),
) -> Exit:
    """Convert Batch pools to compute clusters, and report the differences."""
    pools = _pools(session, paths)
    if not pools:
        return Exit.ERROR
    names = cluster_names(pool.address.name for pool in pools)
    text = "---\n".join(cluster_of(*pair, size) for pair in zip(pools, names, strict=True))
    report = new_report(session)
    documents = source.load(_NAME, text, report)
    file = SourceFile(_NAME, explicit=True)
    session.loader(report).check([(file, document) for document in documents])
    if report.failed or not session.quiet:
        session.show(report)
    if report.failed:
        return Exit.ERROR
    if out is None:
        session.out_data(text)
        return Exit.OK
    try:
        files.write(out, text.encode())
    except OSError as error:
        session.say(f"ERROR: cannot write {out}: {error.strerror}")
        return Exit.ERROR
    session.note(f"{out}: written; check it with `mlctl validate {out}`")
    return Exit.OK


def _pools(session: Session, paths: list[str]) -> list[Resource]:
    """Return the pools of the files; none, after printing why, if something is wrong."""
    report = new_report(session)
    loaded = session.loader(report).load(paths)
    if report.failed:
        session.show(report)
        return []
    pools = [resource for resource in loaded.resources if resource.kind.retired_service]
    for resource in loaded.resources:
        if resource not in pools:
            session.note(
                f"{resource.document.place}: skipped, {resource.address} needs no successor"
            )
    if not pools:
        session.say("ERROR: these files have no Batch Pool; nothing else is converted.")
    return pools


COMMANDS = {"convert": convert}

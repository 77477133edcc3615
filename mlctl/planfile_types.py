"""The inputs of a saved plan, and the types in one, which anybody may have written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

from mlctl.dataclasses import dataclass, field
from mlctl.pointer import Data, Pointer, dotted


@dataclass(frozen=True, kw_only=True, slots=True)
class MadeFrom:
    """What a plan was made from, to plan again: paths, in a folder, and flags.

    `successors` are the new names that a blue-green plan has written into the files.
    """

    paths: Sequence[str] = ()
    folder: str = ""
    destroy: bool = False
    targets: Sequence[str] = ()
    tagged: bool = True
    prune: bool = False
    prune_limit: int | None = None
    successors: Mapping[str, str] = field(default_factory=dict)
    variables: Sequence[str] = ()
    variable_files: Sequence[str] = ()


# A type; several; `[SHAPE]` for lists; `{"key": SHAPE}`, of which each key may be absent; and
# `{...: SHAPE}` for mappings of whatever keys.
Shape: TypeAlias = type | tuple[type, ...] | list["Shape"] | Mapping[object, "Shape"]

_WIRE: Shape = [(str, int)]
_ANY: Shape = (dict, list, str, int, float, bool, type(None))
_SECRET: Shape = {"wire": _WIRE, "file": str, "absolute": str, "index": int, "at": _WIRE}
_STEP: Shape = {
    **dict.fromkeys(("id", "without"), int),
    **dict.fromkeys(("change", "role", "target"), str),
    **{key: {...: _ANY} for key in ("body", "base", "until")},
    "kept": [str],
    "needs": [int],
    "secrets": [_SECRET],
    "subsumed": bool,
    "uploads": [{"target": str, "path": str, "digest": str, "wire": _WIRE}],
}
_CHANGE: Shape = {
    "address": str,
    "change": {"actions": [str], "after": (dict, type(None))},
    "source": (dict, type(None)),
}
_MADE_FROM: Shape = {
    **{key: [str] for key in ("paths", "targets", "variables", "variable_files")},
    **dict.fromkeys(("destroy", "tagged", "prune"), bool),
    "folder": str,
    "prune_limit": (int, type(None)),
    "successors": {...: str},
}
_PLAN: Shape = {
    "backend": str,
    "workspace": {...: str},
    "steps": [_STEP],
    "without": [[str]],
    "read": {...: (str, type(None))},
    "resource_changes": [_CHANGE],
    "diagnostics": [dict.fromkeys(("severity", "code", "summary"), str)],
    "applyable": bool,
    "made_from": _MADE_FROM,
}


def wrong_place(document: Mapping[str, Data]) -> str | None:
    """Find the first place with a wrong type, or that waits for itself; None if there is none."""
    for at in _wrong(document, _PLAN, ()):
        return dotted(at)
    steps = document.get("steps", ())
    graph = {step.get("id"): step.get("needs", ()) for step in steps}
    known = len(graph) == len(steps) and all(graph.keys() >= {*needs} for needs in graph.values())
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        known = False
    return None if known else "steps"


def _wrong(value: Data, shape: Shape, at: Pointer) -> Iterator[Pointer]:
    if isinstance(shape, type | tuple):
        if type(value) not in (shape if isinstance(shape, tuple) else (shape,)):
            yield at
    elif isinstance(shape, list):
        if type(value) is not list:
            yield at
            return
        for index, item in enumerate(value):
            yield from _wrong(item, shape[0], (*at, index))
    elif type(value) is not dict:
        yield at
    else:
        for key, item in value.items():
            if key in shape or ... in shape:
                yield from _wrong(item, shape.get(key, shape.get(..., _ANY)), (*at, key))

"""Store the state as JSON data, and read it back; it continues as the original would.

Fields with default values are left out, and so are derived fields. Mini-batches that never started
take no space.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from mlctl.dataclasses import MISSING, Field, fields, is_dataclass
from mlctl.simulator.engine import batch
from mlctl.simulator.engine.commands import Command
from mlctl.simulator.engine.jobs import AnyJob, BatchJob
from mlctl.simulator.engine.state import EventKind, World
from mlctl.simulator.engine.void_events import is_void

FORMAT = 1
_TAG = "is"  # the key of a value's class name


class OtherVersionError(Exception):
    """The data is from another version of mlctl, whose classes or fields have other names."""


def dump(world: World) -> dict[str, Any]:
    """Return the state as JSON data."""
    for cluster in world.clusters.values():  # stores the order within each state
        cluster.nodes = {
            node.number: node for nodes in cluster.nodes_by_state for node in nodes.values()
        }
    data = _plain(world)
    data["queue"] = [
        list(event)
        for event in sorted(world.queue)  # batch jobs schedule their own again
        if event[3] is not EventKind.MINI_BATCH_END and not is_void(world, event)
    ]
    return {"format": FORMAT, **data}


def load(data: dict[str, Any]) -> World:
    """Read a state that `dump` wrote.

    Raises:
        OtherVersionError: another version wrote it.
    """
    if data.get("format") != FORMAT:
        raise OtherVersionError
    world: World = _reader(World)(data)
    for cluster in world.clusters.values():
        for node in cluster.nodes.values():
            cluster.nodes_by_state[node.state][node.number] = node
    for job in world.jobs.values():
        if isinstance(job, BatchJob) and job.ended is None:
            batch.schedule_next(world, job)
    return world


def load_job(data: dict[str, Any]) -> AnyJob:
    """Read a job in the format of `dump`."""
    job: AnyJob = _reader(AnyJob)(data)
    return job


def dump_command(command: Command) -> dict[str, Any]:
    """Return a command as JSON data."""
    return _plain_fields(command)


def load_command(data: dict[str, Any]) -> Command:
    """Read a command that `dump_command` wrote.

    Raises:
        OtherVersionError: another version wrote it.
        ValueError: the data is not a command.
    """
    command: Command | None = _reader(Command)(data)
    if command is None:
        raise ValueError("no command")
    return command


def _plain(value: Any) -> Any:
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return [[_plain(key), _plain(item)] for key, item in value.items()]
        case list() | tuple() | deque():
            return [_plain(element) for element in value]
        case _:
            return _plain_fields(value)


def _plain_fields(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    data: dict[str, Any] = {_TAG: kind.__name__}
    for name, default in _stored_fields(kind):
        field_value = getattr(value, name)
        if default is MISSING or field_value != default:
            data[name] = _plain(field_value)
    return data


@lru_cache(maxsize=64)
def _stored_fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields that are stored, with their defaults."""
    return tuple(
        (slot.name, _default(slot)) for slot in fields(kind) if not slot.metadata.get("derived")
    )


def _default(slot: Field[Any]) -> Any:
    return slot.default if slot.default_factory is MISSING else slot.default_factory()


@lru_cache(maxsize=256)
def _reader(hint: Any) -> Callable[[Any], Any]:
    """Return a function that makes a value of the type `hint` from its JSON data."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _union_reader(arguments)
    if origin is dict:
        key, read_value = map(_reader, arguments)
        return lambda data: {key(name): read_value(value) for name, value in data}
    if origin is tuple and arguments[-1] is not Ellipsis:
        readers = tuple(map(_reader, arguments))
        return lambda data: tuple(read(item) for read, item in zip(readers, data, strict=True))
    if origin in (list, tuple, deque):
        read, make = _reader(arguments[0]), origin
        return lambda data: make(map(read, data))
    if is_dataclass(hint):
        return _class_reader(hint)
    return lambda data: data if data is None else hint(data)


def _union_reader(options: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Return a reader of classes by their tag, or of one simple type besides None or text."""
    classes = {option.__name__: option for option in options if hasattr(option, "__slots__")}
    simple = [option for option in options if option not in (types.NoneType, str)]
    if not classes and not simple:
        return lambda data: data
    if not classes:
        only, text = _reader(simple[0]), str in options
        return lambda data: data if data is None or (text and isinstance(data, str)) else only(data)

    def read(data: Any) -> Any:
        if data is None:
            return None
        if data[_TAG] not in classes:
            raise OtherVersionError
        return _reader(classes[data[_TAG]])(data)

    return read


def _class_reader(kind: Any) -> Callable[[Any], Any]:
    hints, stored = get_type_hints(kind), _stored_fields(kind)
    readers = {name: _reader(hints[name]) for name, _ in stored}
    known = {*readers, _TAG, *(["format"] if kind is World else ())}
    required = {name for name, default in stored if default is MISSING}

    def read(data: Any) -> Any:
        if not required <= data.keys() <= known:
            raise OtherVersionError
        return kind(**{name: read(data[name]) for name, read in readers.items() if name in data})

    return read

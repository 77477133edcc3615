"""What an editor asks of a text: its findings, what may stand at a place, what a field means.

Places are zero-based lines and code points. Nothing here knows a protocol.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from mlctl import schema, source
from mlctl.cli.shell import Session
from mlctl.cli.shell.global_args import GlobalArgs
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Diagnostic, Report
from mlctl.files import Files
from mlctl.kinds import Kind
from mlctl.kinds.registry import by_schema, infer
from mlctl.pointer import Data, Pointer
from mlctl.render.findings.explain import explain
from mlctl.schema import Schema
from mlctl.schema.text import enumerated

_KEY = re.compile(r"^(?P<indent>\s*(?:- +)*)(?P<key>[\w$.-]+)\s*:(?:\s|$)")
_SUGGESTION = re.compile(r"did you mean `([^`]+)`\?")
_MOST_FILES = 1000  # of a folder whose names are offered


@dataclass(frozen=True, slots=True)
class Completion:
    """A word that may stand at a place, what it is, and its documentation."""

    word: str
    detail: str = ""
    documentation: str = ""


def findings(path: Path, text: str) -> list[Diagnostic]:
    """What `mlctl validate` says of a file with this text, by the project that it is in."""
    session = _session(path)
    report = Report()
    files = Files.with_texts({path: text})
    session.loader(report, files=files, scripts=False).load([str(path)])
    return [finding for finding in report if _is_of(finding, path)]


def _session(path: Path) -> Session:
    """The session of a command about a file, in the first environment of its project."""
    session = Session(GlobalArgs(), dict(os.environ), [str(path)])
    environments = session.settings.project.environments
    if environments and "MLCTL_ENV" not in session.environment:
        flags = replace(session.flags, env=environments[0])
        session = Session(flags, session.environment, session.paths)
    return session


def _is_of(finding: Diagnostic, path: Path) -> bool:
    return finding.primary is not None and finding.primary.span.source.name == str(path)


def suggestion(finding: Diagnostic) -> str | None:
    """The word that a hint has in place of what is underlined."""
    match = _SUGGESTION.search(finding.hint or "")
    return match[1] if match else None


def path_at(text: str, line: int) -> Pointer:
    """The keys above and on a line, by their indentation: a text under way is no YAML yet."""
    lines = text.splitlines()
    path: list[str] = []
    depth = 1 << 30
    for number in range(min(line, len(lines) - 1), -1, -1):
        match = _KEY.match(lines[number])
        if match is None or lines[number].lstrip().startswith("#"):
            continue
        indent = len(match["indent"])
        if indent < depth:
            path.insert(0, match["key"])
            depth = indent
        if depth == 0:
            break
    return tuple(path)


def kind_of(text: str) -> Kind | None:
    """The kind of a document that may be incomplete."""
    lines = (_KEY.match(line) for line in text.splitlines())
    top = [match["key"] for match in lines if match and not match["indent"]]
    stated = re.search(r"^\$schema:\s*(\S+)", text, re.MULTILINE)
    if stated:
        kind = by_schema({"$schema": stated[1].strip("\"'")})
        return kind if isinstance(kind, Kind) else None
    data = source.plain(text)
    return infer(data if isinstance(data, dict) else dict.fromkeys(top, ""))


def completions(
    text: str, line: int, column: int, names: Mapping[str, list[str]]
) -> list[Completion]:
    """The fields that may begin at a place, or the values of the field before it.

    `names` are references by kind, as `declared_names` gives them.
    """
    kind = kind_of(text)
    if kind is None:
        return []
    lines = text.splitlines()
    typed = lines[line][:column] if line < len(lines) else ""
    match = _KEY.match(typed)
    if match is not None:
        at = path_at("\n".join([*lines[:line], typed]), line)
        words = (word for level in _levels(kind, at) for word in _values(level, names))
        return list({word.word: word for word in words}.values())
    indent = len(typed) - len(typed.lstrip(" -"))
    above = _above(lines[:line], indent)
    present = _siblings(lines, line, indent)
    fields: dict[str, Completion] = {}
    for level in _levels(kind, above):
        for name, inner in _properties(level):
            if name not in present and not inner.get("readOnly"):
                fields.setdefault(name, _field(name, inner, level))
    return list(fields.values())


def _above(lines: list[str], indent: int) -> Pointer:
    """The keys around a line with this indentation."""
    for number in range(len(lines) - 1, -1, -1):
        match = _KEY.match(lines[number])
        if match is not None and len(match["indent"]) < indent:
            return path_at("\n".join(lines[: number + 1]), number)
    return ()


def _siblings(lines: list[str], line: int, indent: int) -> set[str]:
    """The keys of the mapping that a line is in."""
    keys: set[str] = set()
    for numbers in (range(line - 1, -1, -1), range(line + 1, len(lines))):
        for number in numbers:
            match = _KEY.match(lines[number])
            if match is not None and len(match["indent"]) == indent:
                keys.add(match["key"])
            elif match is not None and len(match["indent"]) < indent:
                break
    return keys


def _levels(kind: Kind, at: Pointer) -> list[Schema]:
    """What each form of a kind has at a path."""
    levels = [form for _, form in schema.forms(schema.resolved(kind.schema))]
    for key in at:
        levels = [inner for level in levels for name, inner in _properties(level) if name == key]
    return levels


def _properties(level: Schema) -> Iterator[tuple[str, Schema]]:
    for part in (level, *level.get("anyOf", ()), level.get("items", {})):
        yield from part.get("properties", {}).items()


def _field(name: str, inner: Schema, level: Schema) -> Completion:
    required = "required" if name in level.get("required", ()) else ""
    kind = inner.get("type", "")
    detail = ", ".join(filter(None, [kind if isinstance(kind, str) else "", required]))
    return Completion(name, detail, inner.get("description", ""))


def _values(level: Schema, names: Mapping[str, list[str]]) -> Iterator[Completion]:
    for part in (level, *level.get("anyOf", ())):
        for word in enumerated(part):
            yield Completion(word)
        if part.get("type") == "boolean":
            yield from (Completion("true"), Completion("false"))
        for name in names.get(str(part.get("x-mlctl-refers-to", "")), ()):
            yield Completion(name, str(part["x-mlctl-refers-to"]))


def declared_names(folder: Path) -> dict[str, list[str]]:
    """The references to what the files of a folder declare, by kind."""
    names: dict[str, list[str]] = {}
    for file in source.discover([str(folder)], Report())[:_MOST_FILES]:
        try:
            status = Path(file.path).stat()
        except OSError:
            continue
        declared = _declared(file.path, status.st_mtime_ns, status.st_size)
        if declared is not None:
            kind, name = declared
            names.setdefault(kind, []).append(name)
    return names


@lru_cache(maxsize=4 * _MOST_FILES)
def _declared(path: str, _modified: int, _size: int) -> tuple[str, str] | None:
    """The kind that a file declares, and the reference to it; read again once it has changed."""
    data = _plain(path)
    kind = by_schema(data) or infer(data)
    if not isinstance(kind, Kind) or not isinstance(data.get("name"), str):
        return None
    version = f":{data['version']}" if data.get("version") is not None else ""
    latest = "@latest" if kind.versioned and not version else version
    return kind.name, f"azureml:{data['name']}{latest}"


def _plain(path: str) -> dict[str, Data]:
    try:
        data = source.plain(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def hover(text: str, line: int) -> str | None:
    """What `mlctl explain` says of the field on a line; None where there is none."""
    kind, at = kind_of(text), path_at(text, line)
    if kind is None or not at:
        return None
    while at:
        try:
            return explain(".".join([kind.name, *map(str, at)]), ())
        except ValueError:
            at = at[:-1]  # a name that the user gave: of a step, an input, a tag
    return None

"""Stand-ins for the files that published YAML names and that are not beside it here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

_ELSEWHERE = ("azureml:", "/", "http", "wasbs:", "abfss:", "$", "<")
_PLAIN = re.compile(r"[\w./ -]+")
_FOLDERS = ("code",)
_PATHS = ("code", "conda_file", "path", "local_path", "component", "trial")


def complete(file: Path) -> None:
    """Make what a file and those that it names need: code, data, conda files, components."""
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    for key, path, holder in _named(data, {}):
        there = file.parent / path
        if there.suffix in (".yml", ".yaml") and there.is_file():
            if key in ("component", "trial"):
                complete(there)
        elif not there.exists():
            _make(there, key, holder)
    for holder in _holders(data):
        entry, code = holder.get("entry"), holder.get("code")
        if isinstance(entry, dict) and isinstance(code, str):
            for name in map(str, entry.values()):
                (file.parent / code / name).write_text("print()\n", encoding="utf-8")


def _make(there: Path, key: str, holder: dict[str, Any]) -> None:
    if key in _FOLDERS or not there.suffix:
        there.mkdir(parents=True, exist_ok=True)
        (there / "main.py").write_text("print()\n", encoding="utf-8")
        return
    there.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(_component(holder)) if key == "component" else "name: x\n"
    there.write_text(text, encoding="utf-8")


def _component(step: dict[str, Any]) -> dict[str, Any]:
    """A component that fits a step: its inputs and outputs, by what is said of them."""
    kind = str(step.get("type") or "command")
    inputs = {name: {"type": _type(held)} for name, held in (step.get("inputs") or {}).items()}
    outputs = {name: {"type": "uri_folder"} for name in step.get("outputs") or {}}
    made: dict[str, Any] = {
        "name": "stand_in",
        "version": "1",
        "inputs": inputs,
        "outputs": outputs,
    }
    made |= {"type": "command", "command": "echo", "environment": {"image": "ubuntu"}}
    if kind == "pipeline" or "jobs" in step:
        only = {"type": "command", "command": "echo", "environment": {"image": "ubuntu"}}
        made = {**made, "type": "pipeline", "jobs": {"only": only}}
        del made["command"], made["environment"]
    return made


def _type(held: Any) -> str:
    if isinstance(held, dict):
        return str(held.get("type") or "uri_folder")
    if isinstance(held, str) and ".outputs." in held:
        return "uri_folder"
    return {bool: "boolean", int: "integer", float: "number"}.get(type(held), "string")


def _named(data: Any, holder: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every path in the data: the key that it is under, itself, and the mapping that has it."""
    if isinstance(data, dict):
        for key, held in data.items():
            if isinstance(held, str) and (
                key in _PATHS or held.startswith("file:") or _is_environment(key, held)
            ):
                text = held.removeprefix("file:")
                if text and not text.startswith(_ELSEWHERE) and _PLAIN.fullmatch(text):
                    yield ("component" if held.startswith("file:") else key), text, data
            yield from _named(held, data)
    elif isinstance(data, list):
        for held in data:
            yield from _named(held, holder)


def _is_environment(key: str, held: str) -> bool:
    return key == "environment" and held.endswith((".yml", ".yaml"))


def _holders(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        yield data
    for held in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _holders(held)

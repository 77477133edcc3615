"""What a rehearsal has shown, and the lines of the user's code that are to blame."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mlctl.dataclasses import dataclass
from mlctl.diagnostics import Rule


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of the user's code: the file relative to its folder, and the line from 1."""

    file: str
    line: int

    @classmethod
    def from_message(cls, value: list[Any] | None) -> CodeLine | None:
        """Read `[file, line]`, as a worker sends it."""
        return cls(str(value[0]), int(value[1])) if value else None

    def loop_around(self, code: Path) -> CodeLine:
        """Return the outermost loop with this line or a call of its function; else this line."""
        try:
            tree = ast.parse((code / self.file).read_bytes())
        except (OSError, ValueError, SyntaxError, RecursionError):
            return self
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        names = {node.name for node in functions if self._is_in(node)}
        for node in ast.walk(tree):  # from the outside
            if isinstance(node, (ast.For, ast.While)) and (
                self._is_in(node) or names & set(_called(node))
            ):
                return CodeLine(self.file, node.lineno)
        return self

    def _is_in(self, node: ast.stmt) -> bool:
        return node.lineno <= self.line <= (node.end_lineno or 0)


def _called(tree: ast.AST) -> Iterator[str]:
    """Return the names of the functions that a part of a program calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


@dataclass(frozen=True, slots=True)
class Evidence:
    """A broken rule: a sentence, a line, and the kill that caused it (None: no kill)."""

    rule: Rule
    message: str
    place: CodeLine | None
    kill: int | None = None


def first_of_each(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Return the first evidence of each rule at each line."""
    by_place: dict[tuple[str, CodeLine | None], Evidence] = {}
    for item in evidence:
        by_place.setdefault((item.rule.code, item.place), item)
    return tuple(by_place.values())

"""Likely lines of a script, from its syntax tree: where a run has shown none."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mlctl.rehearsal.evidence import CodeLine

_MUTATING = {"append", "add", "update", "extend", "insert", "setdefault", "pop", "remove", "clear"}
_CHANCE = {"random", "uuid", "secrets", "datetime", "date"}
_CHANCE_CALLS = (
    "time time_ns now utcnow today uuid1 uuid4 getpid perf_counter monotonic urandom random randint"
    " choice choices shuffle gauss uniform rand randn normal hash set sample token_hex gettempdir"
)
_WHOLE = {"len", "enumerate", "sum", "min", "max", "sorted", "mean", "std", "index", "concat"}


@dataclass(frozen=True, slots=True)
class Script:
    """A script's tree; None where it cannot be parsed."""

    name: str
    tree: ast.Module | None

    @classmethod
    def read(cls, path: Path, name: str) -> Script:
        """Parse a script; what cannot be parsed has no lines."""
        try:
            return cls(name, ast.parse(path.read_bytes()))
        except (OSError, ValueError, SyntaxError, RecursionError):
            return cls(name, None)

    @property
    def scores(self) -> bool:
        """Whether it has a `run`, as scoring scripts have, or cannot be parsed."""
        return self.tree is None or self._function("run") is not None

    def run(self) -> CodeLine:
        """The line of `def run`; the first line where there is none."""
        return self._at(self._function("run")) or CodeLine(self.name, 1)

    def init(self) -> CodeLine:
        """The line of `def init`; the first line where there is none."""
        return self._at(self._function("init")) or CodeLine(self.name, 1)

    def state(self) -> CodeLine:
        """Where `run`, or what it may call, changes something that outlives it."""
        module_names = set(self._module_names())
        for function in self._functions(excluded="init"):
            shared = {
                name
                for node in ast.walk(function)
                if isinstance(node, ast.Global)
                for name in node.names
            }
            for node in ast.walk(function):
                if isinstance(node, (ast.Assign, ast.AugAssign)) and _targets(node) & shared:
                    return CodeLine(self.name, node.lineno)
                if _mutated(node) & (module_names | shared | self._globals()):
                    return CodeLine(self.name, getattr(node, "lineno", 1))
        return self.run()

    def chance(self) -> CodeLine:
        """Where the clock, a random number, a process id or a hash is asked."""

        def matches(node: ast.AST) -> bool:
            if isinstance(node, (ast.Set, ast.SetComp)):
                return True
            if not isinstance(node, ast.Call):
                return False
            name = _name(node.func)
            return name in _CHANCE_CALLS.split() or name.partition(".")[0] in _CHANCE

        return self._first(matches) or self.run()

    def composition(self) -> CodeLine:
        """Where the mini-batch as a whole is looked at: its length, positions, a mean."""

        def matches(node: ast.AST) -> bool:
            return isinstance(node, ast.Call) and _name(node.func) in _WHOLE

        return self._first(matches, _outside_loops) or self.run()

    def growth(self) -> CodeLine:
        """Where something that outlives a mini-batch grows."""
        return self.state()

    def _first(
        self,
        matches: Callable[[ast.AST], bool],
        walk: Callable[[ast.AST], Iterator[ast.AST]] = ast.walk,
    ) -> CodeLine | None:
        for function in self._functions(excluded="init"):
            lines = [getattr(node, "lineno", 0) for node in walk(function) if matches(node)]
            if lines:
                return CodeLine(self.name, min(lines))
        return None

    def _functions(self, excluded: str) -> Iterator[ast.FunctionDef]:
        """`run` first, then the others in their order."""
        functions = [
            node
            for node in ast.walk(self.tree or ast.Module([], []))
            if isinstance(node, ast.FunctionDef)
        ]
        yield from sorted(
            (function for function in functions if function.name != excluded), key=_is_helper
        )

    def _function(self, name: str) -> ast.FunctionDef | None:
        return next(
            (function for function in self._functions(excluded="") if function.name == name), None
        )

    def _module_names(self) -> Iterator[str]:
        for statement in self.tree.body if self.tree else ():
            if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                yield from _targets(statement)

    def _globals(self) -> set[str]:
        """The names that some function declares global."""
        return {
            name
            for node in ast.walk(self.tree or ast.Module([], []))
            if isinstance(node, ast.Global)
            for name in node.names
        }

    def _at(self, node: ast.FunctionDef | None) -> CodeLine | None:
        return CodeLine(self.name, node.lineno) if node is not None else None


def _outside_loops(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one, without what is done for each element of a loop."""
    yield node
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if isinstance(node, comprehensions):
        return
    below = [node.iter] if isinstance(node, (ast.For, ast.AsyncFor)) else ast.iter_child_nodes(node)
    for child in below:
        yield from _outside_loops(child)


def _is_helper(function: ast.FunctionDef) -> bool:
    return function.name != "run"


def _targets(statement: ast.AST) -> set[str]:
    targets = (
        statement.targets
        if isinstance(statement, ast.Assign)
        else [getattr(statement, "target", None)]
    )
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _mutated(node: ast.AST) -> set[str]:
    """The names whose value a statement or call changes in place."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        base = node.func.value
        if node.func.attr in _MUTATING and isinstance(base, ast.Name):
            return {base.id}
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {
            target.value.id
            for target in targets
            if isinstance(target, (ast.Subscript, ast.Attribute))
            and isinstance(target.value, ast.Name)
        }
    return set()


def _name(function: ast.expr) -> str:
    """The last name of what is called: `now` of `datetime.now()`."""
    if isinstance(function, ast.Attribute):
        base = function.value
        if isinstance(base, ast.Name) and base.id in _CHANCE:
            return f"{base.id}.{function.attr}"
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""

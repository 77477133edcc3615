"""Likely lines of a script, from its syntax tree, for findings without a recorded line."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from mlctl.dataclasses import dataclass
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
    """The syntax tree of a script; None if it cannot be parsed."""

    name: str
    tree: ast.Module | None

    @classmethod
    def read(cls, path: Path, name: str) -> Script:
        """Parse a script; one that cannot be parsed has no lines."""
        try:
            return cls(name, ast.parse(path.read_bytes()))
        except (OSError, ValueError, SyntaxError, RecursionError):
            return cls(name, None)

    @property
    def scores(self) -> bool:
        """Whether it has a `run`, as scoring scripts do, or cannot be parsed."""
        return self.tree is None or self._function("run") is not None

    def run(self) -> CodeLine:
        """Return the line of `def run`, else the first line."""
        return self._line_of("run")

    def init(self) -> CodeLine:
        """Return the line of `def init`, else the first line."""
        return self._line_of("init")

    def state(self) -> CodeLine:
        """Return where `run`, or what it may call, changes something that outlives it."""
        module_names = {name for node in self._tree.body for name in _assigned_names(node)}
        lasting = module_names | _globals(self._tree)
        for function in self._functions():
            shared = _globals(function)
            for node in ast.walk(function):
                if _assigned_names(node) & shared or _mutated_names(node) & lasting:
                    return CodeLine(self.name, getattr(node, "lineno", 1))
        return self.run()

    def chance(self) -> CodeLine:
        """Return where the clock, a random number, a process id or a hash is read."""

        def matches(node: ast.AST) -> bool:
            if not isinstance(node, ast.Call):
                return isinstance(node, (ast.Set, ast.SetComp))
            name = _name(node.func)
            return name in _CHANCE_CALLS.split() or name.partition(".")[0] in _CHANCE

        return self._first(matches, ast.walk)

    def composition(self) -> CodeLine:
        """Return where a mini-batch is used as a whole: its length, positions, a mean."""

        def matches(node: ast.AST) -> bool:
            return isinstance(node, ast.Call) and _name(node.func) in _WHOLE

        return self._first(matches, _outside_loops)

    @property
    def _tree(self) -> ast.Module:
        return self.tree or ast.Module([], [])

    def _first(
        self, matches: Callable[[ast.AST], bool], walk: Callable[[ast.AST], Iterator[ast.AST]]
    ) -> CodeLine:
        """Return the first matching line of the first function with one, else that of `run`."""
        for function in self._functions():
            lines = [getattr(node, "lineno", 0) for node in walk(function) if matches(node)]
            if lines:
                return CodeLine(self.name, min(lines))
        return self.run()

    def _functions(self) -> Iterator[ast.FunctionDef]:
        """Return `run` first, then the other functions in order, without `init`."""
        nodes = [node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef)]
        yield from (node for node in nodes if node.name == "run")
        yield from (node for node in nodes if node.name not in ("run", "init"))

    def _function(self, name: str) -> ast.FunctionDef | None:
        nodes = (node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef))
        return next((node for node in nodes if node.name == name), None)

    def _line_of(self, name: str) -> CodeLine:
        function = self._function(name)
        return CodeLine(self.name, 1 if function is None else function.lineno)


def _outside_loops(node: ast.AST) -> Iterator[ast.AST]:
    """Return the nodes below a node, except the bodies of loops."""
    yield node
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if isinstance(node, comprehensions):
        return
    below = [node.iter] if isinstance(node, (ast.For, ast.AsyncFor)) else ast.iter_child_nodes(node)
    for child in below:
        yield from _outside_loops(child)


def _globals(tree: ast.AST) -> set[str]:
    """Return the names that a function, or any in a tree, declares global."""
    declarations = (node for node in ast.walk(tree) if isinstance(node, ast.Global))
    return {name for node in declarations for name in node.names}


def _assigned_names(node: ast.AST) -> set[str]:
    """Return the names that a statement assigns."""
    return {target.id for target in _targets(node) if isinstance(target, ast.Name)}


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def _mutated_names(node: ast.AST) -> set[str]:
    """Return the names whose values a statement or call changes in place."""
    changed: list[ast.expr] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        changed = [node.func.value] if node.func.attr in _MUTATING else []
    for target in _targets(node):
        if isinstance(target, (ast.Subscript, ast.Attribute)):
            changed.append(target.value)
    return {value.id for value in changed if isinstance(value, ast.Name)}


def _name(function: ast.expr) -> str:
    """Return the last name of a call: `now` of `datetime.now()`."""
    if isinstance(function, ast.Attribute):
        base = function.value
        if isinstance(base, ast.Name) and base.id in _CHANCE:
            return f"{base.id}.{function.attr}"
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""

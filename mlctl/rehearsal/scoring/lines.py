"""Likely lines of a script, from its syntax tree: where a run has shown none."""

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
        return self._line_of("run")

    def init(self) -> CodeLine:
        """The line of `def init`; the first line where there is none."""
        return self._line_of("init")

    def state(self) -> CodeLine:
        """Where `run`, or what it may call, changes something that outlives it."""
        module_names = {name for node in self._tree.body for name in _assigned(node)}
        lasting = module_names | _globals(self._tree)
        for function in self._functions():
            shared = _globals(function)
            for node in ast.walk(function):
                if _assigned(node) & shared or _mutated(node) & lasting:
                    return CodeLine(self.name, getattr(node, "lineno", 1))
        return self.run()

    def chance(self) -> CodeLine:
        """Where the clock, a random number, a process id or a hash is asked."""

        def matches(node: ast.AST) -> bool:
            if not isinstance(node, ast.Call):
                return isinstance(node, (ast.Set, ast.SetComp))
            name = _name(node.func)
            return name in _CHANCE_CALLS.split() or name.partition(".")[0] in _CHANCE

        return self._first(matches, ast.walk)

    def composition(self) -> CodeLine:
        """Where the mini-batch as a whole is looked at: its length, positions, a mean."""

        def matches(node: ast.AST) -> bool:
            return isinstance(node, ast.Call) and _name(node.func) in _WHOLE

        return self._first(matches, _outside_loops)

    @property
    def _tree(self) -> ast.Module:
        return self.tree or ast.Module([], [])

    def _first(
        self, matches: Callable[[ast.AST], bool], walk: Callable[[ast.AST], Iterator[ast.AST]]
    ) -> CodeLine:
        """The first line in the first function that has one; that of `run` where none has."""
        for function in self._functions():
            lines = [getattr(node, "lineno", 0) for node in walk(function) if matches(node)]
            if lines:
                return CodeLine(self.name, min(lines))
        return self.run()

    def _functions(self) -> Iterator[ast.FunctionDef]:
        """`run` first, then the others in their order, without `init`."""
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
    """The nodes below one, without what is done for each element of a loop."""
    yield node
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    if isinstance(node, comprehensions):
        return
    below = [node.iter] if isinstance(node, (ast.For, ast.AsyncFor)) else ast.iter_child_nodes(node)
    for child in below:
        yield from _outside_loops(child)


def _globals(tree: ast.AST) -> set[str]:
    """The names that a function, or one of those in a tree, declares global."""
    declarations = (node for node in ast.walk(tree) if isinstance(node, ast.Global))
    return {name for node in declarations for name in node.names}


def _assigned(node: ast.AST) -> set[str]:
    """The names that a statement gives a value."""
    return {target.id for target in _targets(node) if isinstance(target, ast.Name)}


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def _mutated(node: ast.AST) -> set[str]:
    """The names whose value a statement or call changes in place."""
    changed: list[ast.expr] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        changed = [node.func.value] if node.func.attr in _MUTATING else []
    for target in _targets(node):
        if isinstance(target, (ast.Subscript, ast.Attribute)):
            changed.append(target.value)
    return {value.id for value in changed if isinstance(value, ast.Name)}


def _name(function: ast.expr) -> str:
    """The last name of what is called: `now` of `datetime.now()`."""
    if isinstance(function, ast.Attribute):
        base = function.value
        if isinstance(base, ast.Name) and base.id in _CHANCE:
            return f"{base.id}.{function.attr}"
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""

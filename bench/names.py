"""Names that say nothing, names with two meanings, arguments without names: part of `make lint`.

    python -m bench.names [--list] [FOLDER...]

Counted are parameters and names that are assigned or bound by `for`, `with`, `as` or a walrus. The
words are pronouns, participles and fillers; model codebases of the field have 0.4 to 0.6 % of them.
The exit code is 1 where the share is over the budget in bench/budgets.toml, or where two modules
declare public classes of one name (one name has one meaning), or a call unpacks a tuple that is
written on the spot, `f(*(a, b))`: keywords would say what each value is.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench import ratchet

BUDGET = "names.empty"
EMPTY_WORDS = """
one ones each other others another both all some any found told said had held kept asked wanted
known given there here this that these those it its they them what which who whose when where how
much many more most less few own same such thing things stuff way ways rest left taken put made
done gone going come came seen shown named called meant owed until before after since beside
within without anew
"""
EMPTY = frozenset(EMPTY_WORDS.split())
IGNORED = ("self", "cls", "_")


def main() -> int:
    """Count, print, and compare with the budget; 1 where it is exceeded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="every such name, and how often")
    parser.add_argument("folders", nargs="*", type=Path, default=[ratchet.ROOT / "mlctl"])
    arguments = parser.parse_args()
    names = Counter(name for folder in arguments.folders for name in bound_names(folder))
    empty = {name: count for name, count in names.most_common() if is_empty(name)}
    share = 100 * sum(empty.values()) / max(names.total(), 1)
    if arguments.list:
        print(*(f"{count:6} {name}" for name, count in empty.items()), sep="\n")
    budget = ratchet.load()[BUDGET]
    print(f"{share:.2f} % of {names.total():,} names say nothing; the budget is {budget:g} %")
    refused = [*repeated_classes(arguments.folders), *unpacked_tuples(arguments.folders)]
    print(*refused, sep="\n", end="\n" if refused else "")
    return int(share > budget or bool(refused))


def repeated_classes(folders: Iterable[Path]) -> Iterator[str]:
    """One sentence for each public class whose name another module gives to a class of its own."""
    places = defaultdict(list)
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path}:{node.lineno}")
    for name, where in places.items():
        if len(where) > 1:
            yield f"{', '.join(where)}: {len(where)} classes are called {name}"


def bound_names(folder: Path) -> Iterator[str]:
    """Every name that a file below a folder binds, as often as it does."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = _bound_name(node)
            if name and name not in IGNORED:
                yield name


def unpacked_tuples(folders: Iterable[Path]) -> Iterator[str]:
    """One sentence for each tuple, list or set that is unpacked where it is written."""
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for value in _positional(node):
                match value:
                    case ast.Starred(value=ast.Tuple() | ast.List() | ast.Set()):
                        yield f"{path}:{value.lineno}: what is written in place is unpacked"
                    case _:
                        pass


def _positional(node: ast.AST) -> list[ast.expr]:
    """The arguments of a call, or the elements of a display."""
    match node:
        case ast.Call(args=values) | ast.Tuple(elts=values):
            return values
        case ast.List(elts=values) | ast.Set(elts=values):
            return values
        case _:
            return []


def _bound_name(node: ast.AST) -> str | None:
    match node:
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
            return name
        case ast.ExceptHandler(name=name):
            return name
        case _:
            return None


def is_empty(name: str) -> bool:
    """Whether a name is such a word alone: `found`, `_found`, not `found_files`."""
    return name.strip("_") in EMPTY


if __name__ == "__main__":
    sys.exit(main())

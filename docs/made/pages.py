"""`docs/cli.md`: the help of every command, as `mlctl COMMAND --help` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.cli.parser import help as help_page
from mlctl.cli.parser.examples import examples
from mlctl.cli.parser.tree import CommandNode

_HEAD = """\
# Commands

<!-- Generated from the commands themselves; `make docs` writes it. -->

What `mlctl COMMAND --help` prints, without the flags that every command has. Every example is run
by a test. Shell completion: `mlctl --install-completion`.
"""
_WIDTH = 100


def commands(root: CommandNode) -> str:
    """The page as Markdown."""
    return "\n".join([_HEAD, *_contents(root), "", *_pages(root)])


def _contents(root: CommandNode) -> Iterator[str]:
    for name, node in root.children.items():
        below = ", ".join(f"[{one}](#{_anchor(inner)})" for one, inner in node.children.items())
        yield f"- [{name}](#{_anchor(node)})" + (f": {below}" if below else "")


def _pages(node: CommandNode) -> Iterator[str]:
    title = " ".join(("mlctl", *node.path))
    whole = not node.path
    page = help_page.text(node, examples(node.path), width=_WIDTH, whole=whole)
    yield f'## <a id="{_anchor(node)}"></a>{title}\n\n```text\n{page}```\n'
    for below in node.children.values():
        yield from _pages(below)


def _anchor(node: CommandNode) -> str:
    return "-".join(("mlctl", *node.path))

"""`docs/cli.md` and a page a group under it: help as `mlctl COMMAND --help` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from mlctl.cli.parser import help as help_page
from mlctl.cli.parser.help import examples
from mlctl.cli.parser.tree import CommandNode

_HEAD = """\
# Commands

<!-- Generated from the commands themselves; `make docs` writes it. -->

These pages show the output of `mlctl COMMAND --help`, one page per group. Tests run every example.
To install shell completion, run `mlctl --install-completion`.
"""
_WIDTH = 80  # what a page of the site shows without scrolling
_PAGE_EACH = ("Azure ML Commands", "Simulated Cloud Commands")  # sections with a page a group


def commands(root: CommandNode) -> dict[str, str]:
    """The pages as Markdown, by their path: `cli.md` and `cli/GROUP.md`."""
    pages: dict[str, list[CommandNode]] = {}
    titles: dict[str, str] = {}
    for name, node in root.children.items():
        slug = name if node.section in _PAGE_EACH else node.section.split()[0].lower()
        pages.setdefault(slug, []).append(node)
        titles[slug] = f"mlctl {name}" if node.section in _PAGE_EACH else node.section
    contents = [
        f"- [{titles[slug]}](cli/{slug}.md): " + ", ".join(_links(nodes, f"cli/{slug}.md"))
        for slug, nodes in pages.items()
    ]
    first = "\n".join([_HEAD, *contents, "", _section(root)])
    return {"cli.md": first} | {
        f"cli/{slug}.md": "\n".join([f"# {titles[slug]}\n", *map(_sections, nodes)])
        for slug, nodes in pages.items()
    }


def _links(nodes: list[CommandNode], page: str) -> Iterator[str]:
    for node in nodes:
        for inner in node.commands():
            yield f"[{' '.join(inner.path)}]({page}#{_anchor(inner)})"


def _sections(node: CommandNode) -> str:
    return "\n".join([_section(node), *map(_sections, node.children.values())])


def _section(node: CommandNode) -> str:
    title = " ".join(("mlctl", *node.path))
    page = help_page.text(node, examples(node.path), width=_WIDTH, whole=not node.path)
    return f'## <a id="{_anchor(node)}"></a>{title}\n\n```text\n{page}```\n'


def _anchor(node: CommandNode) -> str:
    return "-".join(("mlctl", *node.path))

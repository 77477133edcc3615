"""Help in the shape of az's: a command, its flags by group, examples.

The texts of flags are in `help.toml`, the examples in `examples.toml`; `docs/cli.md` prints both.
"""

from __future__ import annotations

import inspect
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mlctl.cli.parser.declare import ARGUMENTS
from mlctl.cli.parser.tree import GLOBAL, CommandNode, Option, Positional
from mlctl.dataclasses import dataclass
from mlctl.kinds import KINDS
from mlctl.render.terminal.terminal import Style, Styler
from mlctl.schema.text import with_article

_LAST = ("Global Policy Arguments", "Global Arguments")  # as in az
_NOT_SHARED = ("--output", "--query")  # of commands that print data
_SHARED = "--backend, --env, --var and the other flags of every command: mlctl --help"
_INDENT = " " * 4
_NARROWEST = 60


def text(
    node: CommandNode,
    examples: Sequence[Example],
    *,
    width: int = 100,
    color: bool = False,
    whole: bool = True,
) -> str:
    """Return the help of a command or a group; unless `whole`, without the global flags."""
    width = max(width, _NARROWEST)
    parts = [_title(node, width), *_groups(node, width, whole=whole)]
    parts[1:1] = _sections(node, width)
    if examples:
        parts.append(_section("Examples", _examples(examples)))
    return "\n\n".join(_colorize(part, color=color) for part in parts) + "\n"


def panels(node: CommandNode) -> dict[str, list[Option]]:
    """Return the flags by group: the command's own first, the global ones last."""
    names = [
        ARGUMENTS,
        *(option.panel for option in node.options if option.panel not in _LAST),
        *_LAST,
    ]
    by_panel: dict[str, list[Option]] = {name: [] for name in names}
    for option in node.options:
        by_panel[option.panel].append(option)
    return {name: options for name, options in by_panel.items() if options}


def meaning(of: Option | Positional, path: Sequence[str]) -> str:
    """Return what a flag or positional of the command at a path does: `("compute", "create")`.

    The declaration says it, or the section of `help.toml` for the command, a group above it, or
    all commands.
    """
    if of.help:
        return of.help
    name = of.long if isinstance(of, Option) else of.name
    table = _table("help.toml")
    sections = [table.get(" ".join(path[:length]), {}) for length in range(len(path), 0, -1)]
    return str(next((section[name] for section in (*sections, table) if name in section), ""))


def describe(option: Option, path: Sequence[str]) -> str:
    """Return the help of a flag: its meaning, allowed values and default."""
    allowed = f"Allowed values: {', '.join(option.choices)}." if option.choices else ""
    default = f"Default: {option.default.removesuffix('.')}." if option.default else ""
    return "  ".join(part for part in (meaning(option, path), allowed, default) if part)


def _title(node: CommandNode, width: int) -> str:
    first, *paragraphs = inspect.cleandoc(node.text).split("\n\n")
    more = _table("help.toml").get(" ".join(node.path), {}).get("more", "")
    paragraphs += more.split("\n\n") if more else []
    name = " ".join(("mlctl", *node.path))
    usage = "".join(
        f" {positional.name}" if positional.required else f" [{positional.name}]"
        for positional in node.positionals
    )
    lines = [*_hanging(f"{_INDENT}{name}{usage} : ", first, width, hang=8)]
    for paragraph in paragraphs:
        lines += ["", *_hanging(" " * 8, paragraph, width, hang=8)]
    return _section("Command" if node.run else "Group", lines)


def _sections(node: CommandNode, width: int) -> Iterator[str]:
    """Return the commands of a group, by section."""
    longest = max(map(len, node.children), default=0)
    sections: dict[str, list[str]] = {}
    for name, below in node.children.items():
        head = f"{_INDENT}{name.ljust(longest)} : "
        line = head + _one_line(below.summary, width - len(head))
        sections.setdefault(below.section, []).append(line)
    return (_section(title, lines) for title, lines in sections.items())


def _one_line(text: str, room: int) -> str:
    """Return the first sentence, or the part of it that fits a line."""
    sentence = text.partition(". ")[0].removesuffix(".")
    for mark in (": ", "; ", ", "):
        while len(sentence) >= room and mark in sentence:
            sentence = sentence.rpartition(mark)[0]
    return f"{textwrap.shorten(sentence, max(room, _NARROWEST), placeholder='...')}."


def _groups(node: CommandNode, width: int, *, whole: bool) -> Iterator[str]:
    shown = [option for option in node.options if not (node.path and _is_shared(option))]
    names = [*map(_names, shown), *(positional.name for positional in node.positionals)]
    longest = max(map(len, names), default=0)
    required = any(option.required for option in node.options)
    column = longest + (len(" [Required]") if required else 0)
    by_panel = panels(node)
    if node.positionals:
        by_panel = {ARGUMENTS: by_panel.pop(ARGUMENTS, []), **by_panel}
    for panel, options in by_panel.items():
        if panel in _LAST and not whole:
            continue
        shared = [option for option in options if _is_shared(option)] if node.path else []
        lines: list[str] = []
        for place in node.positionals if panel == ARGUMENTS else ():
            lines += _hanging(
                f"{_INDENT}{place.name.ljust(column)} : ", meaning(place, node.path), width
            )
        for option in options:
            if option in shared:
                continue
            name = _names(option)
            head = (
                f"{name.ljust(column - len(' [Required]'))} [Required]" if option.required else name
            )
            lines += _hanging(
                f"{_INDENT}{head.ljust(column)} : ", describe(option, node.path), width
            )
        if shared:
            lines.append(f"{_INDENT}{_SHARED}")
        yield _section(panel, lines)


def _is_shared(option: Option) -> bool:
    """Whether every command has the flag."""
    return option.panel == GLOBAL and option.long not in _NOT_SHARED


def _names(option: Option) -> str:
    """Return the names of a flag, and its value's placeholder."""
    return " ".join([*option.names, *([option.metavar] if option.metavar else [])])


def _examples(examples: Iterable[Example]) -> Iterator[str]:
    for number, example in enumerate(examples):
        if number:
            yield ""
        yield f"{_INDENT}{example.title}"
        yield from (f"{_INDENT * 2}{line}" for line in example.command.splitlines())


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title, *lines])


def _hanging(head: str, body: str, width: int, hang: int | None = None) -> list[str]:
    room = len(head) if hang is None else hang
    wrapped = textwrap.wrap(
        body,
        max(width, room + 24),
        initial_indent=head,
        subsequent_indent=" " * room,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapped or [head.rstrip()]


def _colorize(part: str, *, color: bool) -> str:
    title, _, body = part.partition("\n")
    return f"{Styler(color).apply(title, Style.BOLD)}\n{body}"


@dataclass(frozen=True, slots=True)
class Example:
    """A command line to copy, and what it does."""

    title: str
    command: str


def examples(path: Sequence[str]) -> list[Example]:
    """The examples of the command at a path: `("compute", "create")`."""
    listed = all_examples().get(" ".join(path)) or _of_sample(path)
    return [Example(title, command.strip()) for title, command in listed.items()]


def _of_sample(path: Sequence[str]) -> Mapping[str, str]:
    """The examples of a command of a kind that has a sample, and none of its own here."""
    kind = KINDS.get(path[0]) if len(path) > 1 else None
    if kind is None or not kind.az.sample[0]:
        return {}
    file, name = kind.az.sample
    words = {"kind": kind.name, "one": with_article(kind.title), "many": f"{kind.title}s"}
    return {
        title.format(**words): command.format(**words, file=file, name=name)
        for title, command in all_examples().get(f"{{kind}} {path[1]}", {}).items()
    }


def all_examples() -> Mapping[str, Mapping[str, str]]:
    """Title to command line, by the command; `{kind}` stands for each kind that has a sample."""
    return _table("examples.toml")


@cache
def _table(name: str) -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))

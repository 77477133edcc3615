"""Help in the shape of az's: a command, its flags by group, examples."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from mlctl.cli.parser.declare import ARGUMENTS
from mlctl.cli.parser.examples import Example
from mlctl.cli.parser.tree import GLOBAL, CommandNode, Option
from mlctl.render.terminal.terminal import Style, Styler

_LAST = ("Global Policy Arguments", "Global Arguments")  # where az has them
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
    """The help of a command or a group; not `whole`: without the flags that every command has."""
    width = max(width, _NARROWEST)
    parts = [_title(node, width), *_groups(node, width, whole=whole)]
    parts[1:1] = _sections(node, width)
    if examples:
        parts.append(_section("Examples", _examples(examples)))
    return "\n\n".join(_inked(part, color=color) for part in parts) + "\n"


def panels(node: CommandNode) -> dict[str, list[Option]]:
    """The flags by their group: the command's own first, those of every command last."""
    names = [
        ARGUMENTS,
        *(option.panel for option in node.options if option.panel not in _LAST),
        *_LAST,
    ]
    by_panel: dict[str, list[Option]] = {name: [] for name in names}
    for option in node.options:
        by_panel[option.panel].append(option)
    return {name: options for name, options in by_panel.items() if options}


def describe(option: Option) -> str:
    """The help of a flag: its meaning, allowed values and default."""
    allowed = f"Allowed values: {', '.join(option.choices)}." if option.choices else ""
    default = f"Default: {option.default.removesuffix('.')}." if option.default else ""
    return "  ".join(part for part in (option.help, allowed, default) if part)


def _title(node: CommandNode, width: int) -> str:
    first, *paragraphs = node.text.split("\n\n")
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
    """The commands of a group, by their sections."""
    longest = max(map(len, node.children), default=0)
    sections: dict[str, list[str]] = {}
    for name, below in node.children.items():
        head = f"{_INDENT}{name.ljust(longest)} : "
        line = head + _one_line(below.summary, width - len(head))
        sections.setdefault(below.section, []).append(line)
    return (_section(title, lines) for title, lines in sections.items())


def _one_line(text: str, room: int) -> str:
    """The first sentence; where it is too long for a line, the part that stands alone."""
    sentence = text.partition(". ")[0].removesuffix(".")
    for mark in (": ", "; ", ", "):
        while len(sentence) >= room and mark in sentence:
            sentence = sentence.rpartition(mark)[0]
    return f"{textwrap.shorten(sentence, max(room, _NARROWEST), placeholder='...')}."


def _groups(node: CommandNode, width: int, *, whole: bool) -> Iterator[str]:
    shown = [option for option in node.options if not (node.path and _is_shared(option))]
    names = [*map(_named, shown), *(positional.name for positional in node.positionals)]
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
            lines += _hanging(f"{_INDENT}{place.name.ljust(column)} : ", place.help, width)
        for option in options:
            if option in shared:
                continue
            name = _named(option)
            head = (
                f"{name.ljust(column - len(' [Required]'))} [Required]" if option.required else name
            )
            lines += _hanging(f"{_INDENT}{head.ljust(column)} : ", describe(option), width)
        if shared:
            lines.append(f"{_INDENT}{_SHARED}")
        yield _section(panel, lines)


def _is_shared(option: Option) -> bool:
    """Whether every command has the flag."""
    return option.panel == GLOBAL and option.long not in _NOT_SHARED


def _named(option: Option) -> str:
    """The names of a flag, and what stands for its value."""
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
        " ".join(body.split(" ")),
        max(width, room + 24),
        initial_indent=head,
        subsequent_indent=" " * room,
        break_long_words=False,
        break_on_hyphens=False,
        fix_sentence_endings=False,
        drop_whitespace=True,
        replace_whitespace=True,
    )
    return wrapped or [head.rstrip()]


def _inked(part: str, *, color: bool) -> str:
    title, _, body = part.partition("\n")
    return f"{Styler(color).apply(title, Style.BOLD)}\n{body}"

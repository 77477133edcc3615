"""Escape text and data that a terminal or a build agent would obey.

A terminal obeys control characters, and reorders text by bidirectional overrides. Azure Pipelines
looks for `##vso[` and GitHub's runner for `##[` anywhere in a line of any program's output, and for
`::` at the begin of one (actions/runner, ActionCommand.cs).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping

from mlctl.masking import masked
from mlctl.pointer import Data

_JOINERS = "\u200c\u200d"  # parts of emoji and of scripts; harmless
_CONTROLLING = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control, format (bidi), surrogates, separators
# A word that Markdown shows as it is: no mention (`@`, `#1`, `!1`, `GH-1`), link, hash of a commit,
# HTML, emphasis or command of GitLab (`/close`).
_PLAIN_WORD = re.compile(
    r"(?!/|www\.|GH-\d|\W*[0-9a-f]{7,}\b)(?!\S*//)(?!_)[\w.,;:()'\"%+=?/\u2026\u2013\u2192-]+(?<!_)",
    re.IGNORECASE,
)
_BYTE, _BMP = 0xFF, 0xFFFF

# Texts are patterns that `re` compiles once they are needed.
# The second `#` of `##vso[` or `##[`, and the first `:` of `::error file=x::`.
_COMMAND = r"(?i)(?<=#)#(?=(?:vso)?\[)|:(?=:[a-z][\w-]*(?: [^:\n]*)?::)"
_LINE_COMMAND = r"(?m)^((?:[^\S\n]|\x1b\[[\d;]*m)*)::"
_SUSPECT = re.compile(r"[^\x20-\x7e]")
_SUSPECT_IN_LINES = re.compile(r"\x1b\[[\d;]*m|[^\n\x20-\x7e]")
_HASH = r"(?i)#(?=#(?:vso)?\[)"
_YAML_SUSPECT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|##|(?:^|\s)::|[^\x00-\x7f]")


def line(text: str) -> str:
    """Return `text` on one line, with escapes for control characters: `\x1b`."""
    if not (text.isascii() and text.isprintable()):
        text = _SUSPECT.sub(lambda match: visible(match[0]), text)
    return _without_commands(text)


def lines(text: str, styles: frozenset[str] = frozenset()) -> str:
    """Escape each line of `text` as `line` does; the escape sequences in `styles` are kept."""

    def spelt(match: re.Match[str]) -> str:
        return match[0] if match[0] in styles else "".join(map(visible, match[0]))

    return _without_commands(_SUSPECT_IN_LINES.sub(spelt, text))


def visible(character: str) -> str:
    """A character, or the escape that stands for one that cannot be seen: `\\x1b`, `\\u202e`."""
    if not controls(character):
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code <= _BYTE else f"\\u{code:04x}"


def controls(character: str) -> bool:
    """Whether a character could control a terminal."""
    if character.isprintable() or character in _JOINERS:
        return False
    return unicodedata.category(character) in _CONTROLLING


def command_positions(text: str) -> dict[int, str]:
    """The characters of a line that must not stand as they are, lest an agent takes what follows
    for a command: their positions and escapes."""
    if "##" not in text and "::" not in text:
        return {}
    return {match.start(): f"\\x{ord(match[0]):02x}" for match in re.finditer(_COMMAND, text)}


def has_agent_command(text: str) -> bool:
    """Whether Azure Pipelines would take a part of `text` for a command."""
    return "##" in text and re.search(_HASH, text) is not None


def as_json(data: Data, *, indent: int | None = None, ascii_only: bool = True) -> str:
    """Format `data` as JSON to be printed: inert, equal when parsed, with secrets masked."""
    return _dumped(masked(data), indent, ascii_only=ascii_only)


def json_pieces(data: Mapping[str, Data], indent: int) -> Iterator[str]:
    """Format JSON like `as_json`, in pieces: an iterator in an object becomes a list."""
    yield from _object_pieces(data, indent, "\n")
    yield "\n"


def _object_pieces(data: Mapping[str, Data], indent: int, outer: str) -> Iterator[str]:
    inner = outer + " " * indent
    for number, (key, value) in enumerate(data.items()):
        yield f"{'{' if number == 0 else ','}{inner}{json.dumps(key)}: "
        if isinstance(value, Iterator):
            yield from _list_pieces(value, indent, inner)
        elif isinstance(value, dict) and any(isinstance(v, Iterator) for v in value.values()):
            yield from _object_pieces(value, indent, inner)
        else:
            yield _dumped(masked(value, key), indent).replace("\n", inner)
    yield f"{outer}}}"


def _list_pieces(items: Iterator[Data], indent: int, outer: str) -> Iterator[str]:
    inner, empty = outer + " " * indent, True
    for item in items:
        yield f"{'[' if empty else ','}{inner}"
        yield _dumped(masked(item), indent).replace("\n", inner)
        empty = False
    yield "[]" if empty else f"{outer}]"


def _dumped(data: Data, indent: int | None, *, ascii_only: bool = True) -> str:
    return _escaped(json.dumps(data, indent=indent, ensure_ascii=ascii_only), _json_escape)


def in_yaml(text: str) -> str:
    """Put suspect strings (`needs_quotes`) of YAML text in double quotes, with escapes."""
    text = _escaped(text, _yaml_escape)
    return re.sub(_LINE_COMMAND, r"\1\\x3a:", text) if "::" in text else text


def needs_quotes(text: str) -> bool:
    """Whether YAML has to write a string in double quotes, the style that has escapes."""
    suspects = (match[0] for match in _YAML_SUSPECT.finditer(text))
    return any(len(suspect) > 1 or suspect.isascii() or controls(suspect) for suspect in suspects)


def tsv_cell(text: str) -> str:
    """Escape a value of tab-separated values: tabs, line ends and the like."""
    text = text.replace("\t", "\\t").replace("\r", "\\r").replace("\n", "\\n")
    return line(text)


def code_span(text: str) -> str:
    """Format any `text` as code in Markdown: no mention, image, link or HTML."""
    text = line(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if len(fence) > 1 else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text.strip() else ""


def prose(text: str) -> str:
    """Format `text` as a sentence in Markdown, with everything but plain words as code."""
    shown = ""
    for number, part in enumerate(re.split(r"`([^`]*)`", line(text))):
        markdown = code_span(part) if number % 2 else re.sub(r"\S+", _plain_or_code, part)
        both_code = shown.endswith("`") and markdown.startswith("`")
        shown += f" {markdown}" if both_code else markdown  # backticks that meet are one fence
    return shown


def table_row(cells: Iterable[str]) -> str:
    """Format a row of a table in Markdown; the cells are Markdown, too."""
    return f"| {' | '.join(cell.replace('|', f'{chr(92)}|') for cell in cells)} |"


def _plain_or_code(match: re.Match[str]) -> str:
    return match[0] if _PLAIN_WORD.fullmatch(match[0]) else code_span(match[0])


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    """JSON or YAML text in which what is obeyed can stand within quotes only."""
    text = re.sub(
        r"[\x7f-\U0010ffff]",
        lambda match: escape(match[0]) if controls(match[0]) else match[0],
        text,
    )
    return re.sub(_HASH, escape("#").replace("\\", "\\\\"), text) if "##" in text else text


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1] if character > "\x7f" else f"\\u{ord(character):04x}"


def _yaml_escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= _BMP else f"\\U{code:08x}"


def _without_commands(text: str) -> str:
    if "##" in text or "::" in text:
        text = re.sub(_COMMAND, lambda match: f"\\x{ord(match[0]):02x}", text)
        text = re.sub(_LINE_COMMAND, r"\1\\x3a:", text)
    return text

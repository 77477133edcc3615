"""Decode bytes to text that a YAML parser accepts: encoding, size, forbidden characters."""

from __future__ import annotations

import codecs
import re

from yaml.reader import Reader

from mlctl.diagnostics import Diagnostic, Label, Report, SourceText, Span
from mlctl.source.rules import SYNTAX, TOO_BIG

MAX_BYTES = 8 * 1024 * 1024

_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BOM = 0xFEFF
_INNER_BOM = re.compile("^\ufeff", re.MULTILINE)  # PyYAML and libyaml read it differently
_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")


def decode(name: str, raw: bytes | str, report: Report) -> SourceText | None:
    """Decode UTF-8, or UTF-16 with a byte order mark; None and a diagnostic otherwise."""
    if len(raw) > MAX_BYTES:
        report.add(too_big(name))
        return None
    text = raw if isinstance(raw, str) else _text(name, raw, report)
    if text is None:
        return None
    source = SourceText(name, text.removeprefix("\ufeff"))
    forbidden = Reader.NON_PRINTABLE.search(source.text) or _INNER_BOM.search(source.text)
    if forbidden:
        report.add(_forbidden_character(source, forbidden.start()))
        return None
    return source


def encode(text: str, raw: bytes) -> bytes:
    """Encode `text` like `raw`, with its byte order mark."""
    encoding = _UTF_16.get(raw[:2], "utf-8")
    mark = "\ufeff" if encoding != "utf-8" or raw.startswith(codecs.BOM_UTF8) else ""
    return (mark + text).encode(encoding)


def too_big(name: str) -> Diagnostic:
    """Report a file of more than `MAX_BYTES`."""
    message = f"`{name}` is bigger than {MAX_BYTES // 1024 // 1024} MiB"
    return Diagnostic(TOO_BIG, message, None, "split the file, or name another one")


def _text(name: str, raw: bytes, report: Report) -> str | None:
    encoding = _UTF_16.get(raw[:2], "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        source = SourceText(name, raw.decode(encoding, "replace").removeprefix("\ufeff"))
        at = len(raw[: error.start].decode(encoding).removeprefix("\ufeff"))
        spelt = encoding[:6].upper()
        report.add(
            Diagnostic(
                SYNTAX,
                f"the byte 0x{raw[error.start]:02X} is not {spelt.rstrip('-')}",
                Label(_span(source, at)),
                "save the file as UTF-8",
            )
        )
        return None


def _forbidden_character(source: SourceText, at: int) -> Diagnostic:
    code = ord(source.text[at])
    label = Label(_span(source, at))
    if code == 0:
        hint = "save the file as UTF-8; UTF-16 needs a byte order mark"
        return Diagnostic(SYNTAX, "the text has a NUL character", label, hint)
    if code == _BOM:
        hint = "remove it: it began a file that was appended to another"
        return Diagnostic(SYNTAX, "a byte order mark is inside the text", label, hint)
    message = f"the text has the control character U+{code:04X}"
    return Diagnostic(SYNTAX, message, label, "remove it")


def _span(source: SourceText, at: int) -> Span:
    """Return the span of the character at index `at`."""
    line, begin = 0, 0
    for line_break in _BREAK.finditer(source.text, 0, at):
        line, begin = line + 1, line_break.end()
    return Span(source, line, at - begin, line, at - begin + 1)

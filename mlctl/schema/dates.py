"""Dates without quotes: YAML has them as values of their own, and az takes them for no text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlctl import pointer
from mlctl.diagnostics import Diagnostic
from mlctl.schema import rules
from mlctl.schema.places import places
from mlctl.schema.structure import Schema, resolved
from mlctl.source import Document

_DATE = re.compile(r"\d{4}-\d\d?-\d\d?(?:[Tt \t]+\d.*)?")
# Where az sends a date on as text.
_DATED = {"tags", "properties", "environment_variables", "flavors", "utc_time_created"}


def unquoted_dates(document: Document, schema: Schema) -> Iterator[Diagnostic]:
    """Yield a finding for each date without quotes that stands for text: az takes none.

    Looking at every text takes as long as the rest of the check, so it is only asked about files
    with `: 20`: a date in a list, or of another century, is left to az.
    """
    for at, part in dict(places(resolved(schema), document.data)).items():
        text = pointer.get(document.data, at)
        if not isinstance(text, str) or not _DATE.fullmatch(text) or not _DATED.isdisjoint(at):
            continue
        of_component = at == ("version",) and "number" in part.get("type", ())
        if document.written(at) == text and not of_component:
            message = f"`{pointer.dotted(at)}` takes text, not the date `{text}`"
            yield Diagnostic(rules.WRONG_TYPE, message, document.label(at), f'quote it: "{text}"')

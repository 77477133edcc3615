"""Placeholders: text that a pipeline or a person is to replace before the file is used."""

from __future__ import annotations

import re

# Of shells, Azure DevOps (`$(x)`, `#{x}#`, `__x__`), GitHub and Jinja (`{{ x }}`), and of people.
_PLACEHOLDER = re.compile(
    r"\$\w+|\$?\{\{.*?\}\}|\$\{[^}]*\}|\$\([^)]*\)|#\{.*?\}#?|<[^<>]+>|__\w+?__", re.DOTALL
)


def placeholder(text: str) -> str | None:
    """The first placeholder in a text: `${STAGE}` of `../${STAGE}/model`."""
    match = _PLACEHOLDER.search(text)
    return match[0] if match else None


def is_placeholder(text: str) -> bool:
    """Whether all of a text is a placeholder: `${PASSWORD}`, `<name>`."""
    return _PLACEHOLDER.fullmatch(text.strip()) is not None

"""Check a `mlctl.yml` beyond its schema: that what it names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from mlctl.diagnostics import Diagnostic, Report
from mlctl.files import is_file, is_folder, leaves_checkout
from mlctl.kinds import KINDS, Address
from mlctl.pointer import Data, Pointer
from mlctl.policies.policy import read
from mlctl.project.file import ALL, ENVIRONMENTS, Project, ProjectError
from mlctl.project.plugins import Plugins
from mlctl.schema.rules import VALUE_NOT_ALLOWED
from mlctl.schema.text import nearest
from mlctl.source import Document
from mlctl.source.files import left_checkout
from mlctl.source.rules import UNREADABLE

_NAME = re.compile(r"\w[\w.-]*")


def findings(document: Document) -> Iterator[Diagnostic]:
    """Report rules, kinds and files that do not exist."""
    yield from _check_environments(document)
    yield from _check_rules(document)
    yield from _check_kinds(document)
    yield from _check_files(document)
    yield from _check_prices(document)
    yield from _check_moves(document)


def _check_environments(document: Document) -> Iterator[Diagnostic]:
    """Report names of environments that `--env` would misread."""
    for name in document.data.get(ENVIRONMENTS, {}):
        if name == ALL or not _NAME.fullmatch(name):
            message = f"`{name}` is not a valid name of an environment"
            hint = f"use letters, digits, `_`, `.` and `-`; `--env {ALL}` means every environment"
            label = document.label((ENVIRONMENTS, name), key=True)
            yield Diagnostic(VALUE_NOT_ALLOWED, message, label, hint)


def _check_moves(document: Document) -> Iterator[Diagnostic]:
    """Report moves without addresses, or to another kind or parent."""
    for at, number, entry in _items(document, "moved"):
        label = document.label((*at, number))
        try:
            old, new = Address.parse(entry["from"]), Address.parse(entry["to"])
        except ValueError as error:
            yield Diagnostic(VALUE_NOT_ALLOWED, str(error), label, "write KIND/NAME")
            continue
        if (old.kind, old.parent) != (new.kind, new.parent) or old == new:
            message = f"{old} cannot have moved to {new}"
            hint = "only the name may change"
            yield Diagnostic(VALUE_NOT_ALLOWED, message, label, hint)


def _check_rules(document: Document) -> Iterator[Diagnostic]:
    items = [*_items(document, "ignore")]
    if not items:
        return
    from mlctl.project.rules import unknown_rule

    unknown = {code: unknown_rule(code) for _, _, code in items}
    own_rules = _own_rules(document) if any(unknown.values()) else None
    for at, number, code in items:
        hint = unknown[code]
        if hint is not None and own_rules is not None and code not in own_rules:
            near = nearest(code, own_rules)
            label = document.label((*at, number))
            suggestion = f"did you mean `{near}`?" if near else hint
            yield Diagnostic(VALUE_NOT_ALLOWED, f"`{code}` is not a rule", label, suggestion)


def _items(document: Document, key: str) -> Iterator[tuple[Pointer, int, Data]]:
    """Yield the items of a list, of the project and of its environments."""
    lists: dict[Pointer, Data] = {(key,): document.data.get(key, ())}
    for name, environment in document.data.get(ENVIRONMENTS, {}).items():
        lists[ENVIRONMENTS, name, key] = environment.get(key, ())
    for at, items in lists.items():
        for number, item in enumerate(items):
            yield at, number, item


def _own_rules(document: Document) -> set[str] | None:
    """Return the names of policies and plug-ins' rules; None if a plug-in cannot be used."""
    names = [name for _, _, name in _items(document, "plugins")]
    try:
        plugins = Plugins.of(Project({"plugins": names}))
    except ProjectError:
        return None
    files = [document.folder / item for _, _, item in _items(document, "policies")]
    policies = {policy.name for policy in read([*files, *plugins.policies], Report())}
    return policies | {word for rule in plugins.rules for word in (rule.code, rule.name)}


def _check_kinds(document: Document) -> Iterator[Diagnostic]:
    """Report patterns of addresses that match no kind: they would protect nothing."""
    for at, number, pattern in _items(document, "protect"):
        kind = pattern.partition("/")[0].casefold()
        if "/" not in pattern or not any(fnmatchcase(name, kind) for name in KINDS):
            near = nearest(kind, KINDS)
            hint = (
                f"did you mean `{near}/*`?"
                if near
                else f"write KIND/NAME; kinds: {', '.join(KINDS)}"
            )
            message = f"`{pattern}` is neither an address nor a pattern of one"
            yield Diagnostic(VALUE_NOT_ALLOWED, message, document.label((*at, number)), hint)


def _check_prices(document: Document) -> Iterator[Diagnostic]:
    """Report price lists that cannot be used."""
    environments = document.data.get(ENVIRONMENTS, {})
    places: dict[Pointer, Data] = {("prices",): document.data.get("prices")}
    places |= {
        (ENVIRONMENTS, name, "prices"): environments[name].get("prices") for name in environments
    }
    for at, name in places.items():
        try:
            if name is not None and leaves_checkout(document.folder / name, document.folder):
                yield left_checkout(name, document.label(at))
                continue
            Project({"prices": name}, document).price_list()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            message = f"`{name}` cannot be used as a price list: {why}"
            hint = "write one in the format of `mlctl catalog show`"
            yield Diagnostic(UNREADABLE, message, document.label(at), hint)


def _check_files(document: Document) -> Iterator[Diagnostic]:
    for key in ("policies", "overlays"):
        for at, number, name in _items(document, key):
            path = document.folder / name
            if not (is_file(path) or is_folder(path)):
                label = document.label((*at, number))
                hint = "paths in mlctl.yml are relative to its folder"
                yield Diagnostic(UNREADABLE, f"there is no file `{path}`", label, hint)
            elif leaves_checkout(path, document.folder):
                yield left_checkout(path, document.label((*at, number)))

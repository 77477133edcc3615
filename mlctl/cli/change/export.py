"""`mlctl export`: what is live, as files that declare it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path

from mlctl import files, pointer, source
from mlctl.backends.ports.backend import Backend, Live
from mlctl.cli.files.fmt import canonical
from mlctl.cli.shell import Exit, Session, UsageError, argument, flag
from mlctl.diagnostics import Report
from mlctl.kinds import KINDS, Address, kind_of
from mlctl.kinds.values import state
from mlctl.render.cloud.export import Placeholders, document
from mlctl.schema.text import counted, nearest
from mlctl.service_errors import NotFound
from mlctl.source.gaps import OddLayout

_LAID_OUT_OTHERWISE = re.compile("^ *[-?] ", re.MULTILINE)  # lists, and long keys


def export(
    session: Session,
    to: Path = flag(default=..., metavar="DIR"),
    targets: list[str] | None = argument(default=None, metavar="KIND|ADDRESS..."),
    overwrite: bool = flag(default=False),
    all_versions: bool = flag(default=False),
) -> Exit:
    """Write live resources as clean YAML that plans with no changes."""
    selections = [_parse_selection(text) for text in targets or KINDS]
    with session.backend() as backend:
        resources = {live.address: live for live in _select(backend, selections, all_versions)}
        placeholders, scope, location = Placeholders(), backend.scope, backend.location
        texts = {
            _path(to, live.address): format_text(document(live, scope, location, placeholders))
            for live in sorted(resources.values(), key=attrgetter("address.sort_key"))
        }
    if not _write(session, to, texts, overwrite=overwrite):
        return Exit.ERROR
    session.note(f"{counted(len(texts), 'file')} written; check them with: mlctl plan {to}")
    if placeholders.values:
        names = ", ".join(sorted(placeholders.values))
        session.note(f"They need these environment variables, which hold secrets: {names}")
    return Exit.OK


def _parse_selection(text: str) -> str | Address:
    """Return a kind, or an address."""
    if text in KINDS:
        return text
    try:
        address = Address.parse(text)
    except ValueError as error:
        near = nearest(text, KINDS)
        hint = f"did you mean `{near}`?" if near else f"kinds are {', '.join(KINDS)}"
        raise UsageError(
            f"{error}; {hint}" if "/" in text else f"no kind `{text}`: {hint}"
        ) from None
    if address.kind not in KINDS:
        raise UsageError(f"{address}: no document declares {kind_of(address).title}")
    return address


def _select(
    backend: Backend, selections: Iterable[str | Address], all_versions: bool
) -> Iterator[Live]:
    """What is live of these kinds and at these addresses; of an asset the newest, or all."""
    kinds = {selection: None for selection in selections if isinstance(selection, str)}
    addresses = [selection for selection in selections if isinstance(selection, Address)]
    live_by_address = backend.read(addresses)
    several = {address for address in addresses if all_versions and address.version is None}
    for address in addresses:
        if address not in live_by_address:
            raise NotFound("ResourceNotFound", f"there is no {address} in this workspace")
        if address not in several:
            yield live_by_address[address]
    listed = kinds | dict.fromkeys(address.kind for address in several)
    versions = {
        live.address if all_versions else live.address.at(None): live
        for live in backend.list_all(listed)
        if not pointer.get(live.body, ("properties", "isAnonymous"))
        and state(live.body) != "deleting"
        and live.address.name.casefold() not in kind_of(live.address).arm.own_names
    }
    for live in versions.values():
        if live.address.kind in kinds or live.address.at(None) in several:
            yield live


def format_text(text: str) -> str:
    """Return the text of a document as `mlctl fmt` formats it."""
    if not _LAID_OUT_OTHERWISE.search(text):
        return text
    try:
        return canonical("", source.load("", text, Report())) or text
    except OddLayout:  # a key over several lines
        return text


def _path(to: Path, address: Address) -> Path:
    """In a folder, `compute/cpu.yml`, `batch-deployment/ENDPOINT/blue.yml`, `model/heart-3.yml`."""
    version = f"-{address.version}" if address.version is not None else ""
    return Path(to, address.kind, address.parent or "", f"{address.name}{version}.yml")


def _write(session: Session, to: Path, texts: dict[Path, str], *, overwrite: bool) -> bool:
    existing = [path for path in texts if os.path.lexists(path)]
    if existing and not overwrite:
        message = f"{existing[0]} already exists: choose another folder, or pass --overwrite"
        raise UsageError(message)
    root = frozenset([files.real(to)])
    folders = dict.fromkeys(path.parent for path in texts)
    outside = next((path for path in (*folders, *existing) if files.leads_out(path, root)), None)
    if outside:
        raise UsageError(f"{outside} is not written: a link leads out of {to}")
    path = to
    try:
        for path in folders:
            path.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            files.write(path, text.encode())
    except OSError as error:
        session.say(f"ERROR: cannot write {path}: {error.strerror or error}")
        return False
    return True


COMMANDS = {"export": export}

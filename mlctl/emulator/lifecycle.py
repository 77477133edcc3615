"""An emulator put up: its state file, socket, certificate and record, and the note it leaves."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mlctl.emulator.emulator import Emulator
from mlctl.emulator.http import host_check, secure_files, server
from mlctl.emulator.http.record import Recorder
from mlctl.emulator.http.server import Answer
from mlctl.emulator.instance_file import FILE, Running, find
from mlctl.emulator.requests.settings import Settings
from mlctl.simulator.control_plane.state.store import LocalStateError, Store


@dataclass(frozen=True, slots=True)
class Site:
    """Where an emulator is to be. `certificates` is a folder, None for plain HTTP; `names` are the
    hosts that it is called by beside its address."""

    host: str
    port: int
    db: Path
    certificates: Path | None
    record: Path | None
    names: tuple[str, ...] = ()


class SiteError(Exception):
    """It cannot be put up there; says why, and what to do."""


def run(site: Site, settings: Settings, ready: Callable[[Running], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is told once requests are answered.

    Raises:
        SiteError: the state, the address, the certificate or the record cannot be had.
    """
    with (
        _store(site.db) as store,
        _listener(site) as listener,
        _recorded(site.record) as recorded,
    ):
        running, tls = _described(site, settings, listener)
        before = find(FILE)

        def tell() -> None:
            running.leave(FILE)
            ready(running)

        try:
            answer = host_check.admitting(Emulator(store, settings), site.host, site.names)
            server.serve(recorded(answer), listener, tls, tell)
        finally:
            running.forget(FILE, before)


@contextmanager
def _store(path: Path) -> Iterator[Store]:
    try:
        store = Store(path)
    except LocalStateError as error:
        raise SiteError(error.message) from error
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _listener(site: Site) -> Iterator[socket.socket]:
    try:
        listener = server.listen(site.host, site.port)
    except OSError as error:
        told = f"cannot listen on {site.host}, port {site.port}: {error.strerror or error}"
        raise SiteError(f"{told}; --port 0 takes a free port") from error
    with listener:
        yield listener


@contextmanager
def _recorded(file: Path | None) -> Iterator[Callable[[Answer], Answer]]:
    """What becomes of an answering function whose answers are to be written down."""
    if file is None:
        yield lambda answer: answer
        return
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise SiteError(
            f"cannot write `{file}`: {error.strerror}; name another --record"
        ) from error
    with os.fdopen(handle, "a", buffering=1, encoding="utf-8") as lines:
        yield lambda answer: Recorder(answer, lines.write, time.monotonic)


def _described(
    site: Site, settings: Settings, listener: socket.socket
) -> tuple[Running, tuple[Path, Path] | None]:
    """What others are told of it, and the certificate and key to serve with."""
    at = "127.0.0.1" if site.host in secure_files.EVERYWHERE else site.host
    where = f"{f'[{at}]' if ':' in at else at}:{listener.getsockname()[1]}"
    home = settings.home
    named = (home.subscription, home.resource_group, home.workspace, settings.token, os.getpid())
    if site.certificates is None:
        return Running(f"http://{where}", None, None, *named), None
    from mlctl.emulator.http import certificates  # noqa: PLC0415 - plain HTTP does without cryptography

    try:
        files = certificates.ensure(site.certificates, (site.host, *site.names), datetime.now(UTC))
    except OSError as error:
        told = f"cannot make a certificate in `{site.certificates}`: {error.strerror}"
        raise SiteError(f"{told}; name another --cert-dir") from error
    trusted, bundle = (str(each.absolute()) for each in (files.authority, files.bundle))
    return Running(f"https://{where}", trusted, bundle, *named), (files.certificate, files.key)

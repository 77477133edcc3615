"""Start and stop an emulator: state file, socket, certificate, record, instance file."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from mlctl.catalog.prices import PriceList, own_prices
from mlctl.dataclasses import dataclass
from mlctl.emulator.emulator import Emulator
from mlctl.emulator.http import host_check, server
from mlctl.emulator.http.record import Recorder
from mlctl.emulator.http.server import RequestHandler
from mlctl.emulator.instance_file import FILE, EmulatorInstance, find_running
from mlctl.emulator.requests.settings import EmulatorSettings
from mlctl.simulator.control_plane.state.store import LocalStateError, Store

_PATIENCE = 2.0  # seconds that a request waits for another process that holds the state file


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Where an emulator listens and stores its state. `certificates` is a folder, None for plain
    HTTP; `names` are further host names that requests may be for. Nodes cost what `price_list`
    says."""

    host: str
    port: int
    db: Path
    certificates: Path | None
    record: Path | None
    names: tuple[str, ...] = ()
    price_list: Callable[[], PriceList] = own_prices


class StartError(Exception):
    """The emulator cannot start; the message says why, and what to do."""


def run(
    config: ServerConfig, settings: EmulatorSettings, ready: Callable[[EmulatorInstance], None]
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called once requests are answered.

    Raises:
        StartError: the state, the address, the certificate or the record cannot be used.
    """
    with (
        _store(config) as store,
        _listener(config) as listener,
        _recorder(config.record) as recorded,
    ):
        running, tls = _instance_and_tls(config, settings, listener)
        previous = find_running(FILE)

        def started() -> None:
            running.write(FILE)
            ready(running)

        try:
            answer = host_check.with_host_check(
                Emulator(store, settings), config.host, config.names
            )
            server.serve(recorded(answer), listener, tls, started)
        finally:
            running.remove(FILE, previous)
            if settings.servers is not None:
                settings.servers.end()


@contextmanager
def _store(config: ServerConfig) -> Iterator[Store]:
    try:
        store = Store(config.db, _PATIENCE)
        store.price_list = config.price_list
    except LocalStateError as error:
        raise StartError(error.message) from error
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _listener(config: ServerConfig) -> Iterator[socket.socket]:
    try:
        listener = server.listen(config.host, config.port)
    except OSError as error:
        problem = f"cannot listen on {config.host}, port {config.port}: {error.strerror or error}"
        raise StartError(f"{problem}; --port 0 takes a free port") from error
    with listener:
        yield listener


@contextmanager
def _recorder(file: Path | None) -> Iterator[Callable[[RequestHandler], RequestHandler]]:
    """A decorator of request handlers that records requests and answers in `file`."""
    if file is None:
        yield lambda answer: answer
        return
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise StartError(
            f"cannot write `{file}`: {error.strerror}; name another --record"
        ) from error
    with os.fdopen(handle, "a", buffering=1, encoding="utf-8") as lines:
        yield lambda answer: Recorder(answer, lines.write, time.monotonic)


def _instance_and_tls(
    config: ServerConfig, settings: EmulatorSettings, listener: socket.socket
) -> tuple[EmulatorInstance, tuple[Path, Path] | None]:
    """The content of the instance file, and the certificate and key to serve with."""
    at = "127.0.0.1" if config.host in host_check.ALL_INTERFACES else config.host
    address = f"{f'[{at}]' if ':' in at else at}:{listener.getsockname()[1]}"
    home = settings.home
    workspace = (home.subscription, home.resource_group, home.workspace, settings.token)
    process = (os.getpid(), str(FILE.parent.resolve()))
    if config.certificates is None:
        return EmulatorInstance(f"http://{address}", None, None, *workspace, *process), None
    from mlctl.emulator.http import certificates  # noqa: PLC0415 - plain HTTP does without cryptography

    try:
        files = certificates.ensure(
            config.certificates, (config.host, *config.names), datetime.now(UTC)
        )
    except OSError as error:
        problem = f"cannot make a certificate in `{config.certificates}`: {error.strerror}"
        raise StartError(f"{problem}; name another --cert-dir") from error
    trusted, bundle = (str(path.absolute()) for path in (files.authority, files.bundle))
    return EmulatorInstance(f"https://{address}", trusted, bundle, *workspace, *process), (
        files.certificate,
        files.key,
    )

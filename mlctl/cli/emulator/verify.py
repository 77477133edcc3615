"""`mlctl emulator verify`: recorded exchanges held against a running emulator."""

from __future__ import annotations

import http.client
import json
import ssl
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlencode, urlsplit

import typer

from mlctl import masking
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.output import Output, OutputFormat, Query, print_data
from mlctl.cli.shell.session import Session
from mlctl.pointer import Data
from mlctl.service_errors import Permanent

if TYPE_CHECKING:
    from mlctl.cards.card import CardRequest, CardResponse
    from mlctl.cards.verify import Verdict

_PATIENCE = 60.0  # seconds that an answer may take

Folder = Annotated[
    Path | None,
    typer.Argument(metavar="FOLDER", help="The cards; those that mlctl brings along if not given."),
]
Url = Annotated[
    str | None,
    typer.Option("--url", help="The emulator; the one that runs in this folder if not given."),
]
CaFile = Annotated[
    Path | None,
    typer.Option("--ca-file", metavar="FILE", help="The authority of its certificate, for --url."),
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="SECRET", help="What it wants of callers, for --url."),
]


def verify(
    session: Session,
    folder: Folder = None,
    url: Url = None,
    ca_file: CaFile = None,
    token: Token = None,
    output: Output = OutputFormat.NONE,
    query: Query = None,
) -> Exit:
    """Ask a running emulator again what was asked of Azure, and compare the answers.

    Each story of cards gets a workspace in a subscription of its own. Exit code 1: an answer
    deviates, and not as the list of deviations on purpose says. --verbose prints what deviates.
    """
    from mlctl.cards import RECORDED, CardError, load
    from mlctl.cards.verify import verify as tell
    from mlctl.cli.emulator.command import running_instance

    if url is None:
        running = running_instance()
        url, token = running.url, running.token
        ca_file = Path(running.ca_file) if running.ca_file else None
    masking.remember([token] if token else [])
    try:
        cards, exemplars = load(folder or RECORDED), load()
    except CardError as error:
        raise Permanent("NoCard", str(error)) from None
    if not cards:
        raise Permanent("NoCards", f"`{folder}` has no cards: files `*.json`")
    with _service(url, ca_file, token) as service:
        verdicts = tuple(tell(cards, lambda: service, exemplars, uuid.uuid4().hex[:8]))
    if output is OutputFormat.NONE and query is None:
        session.out("\n".join(_lines(verdicts, verbose=session.flags.verbose)))
    else:
        print_data(session, [_data(each) for each in verdicts], output, query)
    return Exit.ERROR if any(each.unexpected for each in verdicts) else Exit.OK


def _lines(verdicts: Iterable[Verdict], *, verbose: bool) -> Iterator[str]:
    """A line for each kind, those of its deviations where they are wanted, and the sum."""
    from mlctl.cards.verify import Score

    of_kind: dict[str, list[Verdict]] = {}
    for each in verdicts:
        of_kind.setdefault(each.card.kind, []).append(each)
    width = max(map(len, of_kind))
    for kind, held in sorted(of_kind.items()):
        score = Score.of(held)
        line = f"{kind:<{width}}  status {score.status}/{score.cards}"
        line += f"  whole {score.whole}/{score.cards}"
        yield line + (f"  deviating {score.deviating}" if score.deviating else "")
        for each in held if verbose else ():
            yield from (f"  {each.card.id} {deviation}" for deviation in each.unexpected)
            yield from (f"  {each.card.id}: {trouble}" for trouble in each.troubles)
    yield str(Score.of(each for held in of_kind.values() for each in held))


def _data(verdict: Verdict) -> Data:
    return {
        "id": verdict.card.id,
        "kind": verdict.card.kind,
        "status": verdict.status_agrees,
        "whole": not verdict.deviations,
        "deviations": [
            {**asdict(each), "expected": each not in verdict.unexpected}
            for each in verdict.deviations
        ],
        "troubles": list(verdict.troubles),
    }


@contextmanager
def _service(
    url: str, ca_file: Path | None, token: str | None
) -> Iterator[Callable[[CardRequest], CardResponse]]:
    """What answers requests of cards: an emulator, over one connection.

    Raises:
        InvalidValue: that is no URL, or no certificate.
    """
    connection = _connection(url, ca_file)

    def ask(request: CardRequest) -> CardResponse:
        try:
            return _asked(connection, request, token)
        except (OSError, ValueError, http.client.HTTPException) as error:
            why = f"{url} did not answer as an emulator does: {error or type(error).__name__}"
            raise Permanent("NoEmulator", why) from None

    try:
        yield ask
    finally:
        connection.close()


def _connection(url: str, ca_file: Path | None) -> http.client.HTTPConnection:
    try:
        where = urlsplit(url)
        host, port = where.hostname, where.port
    except ValueError:
        host = port = where = None
    if where is None or host is None or where.scheme not in ("http", "https"):
        raise InvalidValue(f"`{url}` is no URL such as https://127.0.0.1:8443", flag="--url")
    if where.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=_PATIENCE)
    try:
        trusted = ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # a certificate that is none, too
        why = f"cannot read `{ca_file}`: {error.strerror or error}"
        raise InvalidValue(why, flag="--ca-file") from None
    return http.client.HTTPSConnection(host, port, timeout=_PATIENCE, context=trusted)


def _asked(
    connection: http.client.HTTPConnection, request: CardRequest, token: str | None
) -> CardResponse:
    from mlctl.cards.card import CardResponse

    headers = dict(request.headers)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    content = None
    if request.body is not None:
        headers["Content-Type"] = "application/json"
        content = json.dumps(request.body)
    where = quote(request.path, safe="/:")
    if request.query:
        where += f"?{urlencode(request.query)}"
    connection.request(request.method, where, content, headers)
    answered = connection.getresponse()
    text = answered.read()
    body = json.loads(text) if text else None
    return CardResponse(answered.status, dict(answered.getheaders()), body)

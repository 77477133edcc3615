"""`mlctl emulator record`: recorded exchanges with Azure to cards."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from mlctl import files, inert
from mlctl.cli.parser.arguments import InvalidValue
from mlctl.cli.shell.exits import Exit
from mlctl.cli.shell.session import Session
from mlctl.service_errors import Permanent

Recording = Annotated[
    Path,
    typer.Argument(
        metavar="RECORDING",
        help="A file of `mlctl emulator start --record`, a HAR file, or a recording of the tests of"
        " Azure's SDKs or of Azure PowerShell.",
    ),
]
To = Annotated[
    Path, typer.Option("--to", metavar="FOLDER", help="Where the cards go; it is made if missing.")
]
Origin = Annotated[
    str | None,
    typer.Option("--source", metavar="TEXT", help="Where it is from; the file's name if missing."),
]
Day = Annotated[
    str | None,
    typer.Option(
        "--recorded", metavar="DATE", help="When (2026-01-31); the file's date if missing."
    ),
]


def record(
    session: Session, recording: Recording, to: To, source: Origin = None, recorded: Day = None
) -> Exit:
    """Write a recording of exchanges with Azure Machine Learning as cards, one file each.

    Ids, names of workspaces and people, keys, tokens and signatures are blotted out. Names of
    resources, tags and values of variables are not: read the cards before you give them away.
    """
    from mlctl.cards.card import CardError, as_data, load
    from mlctl.cards.exchanges import exchanges
    from mlctl.cards.making import cards

    if recorded is not None and not _is_date(recorded):
        raise InvalidValue(f"`{recorded}` is no date such as 2026-01-31", flag="--recorded")
    try:
        found = exchanges(recording)
        day = recorded or f"{datetime.fromtimestamp(recording.stat().st_mtime, UTC):%Y-%m-%d}"
        origin = {"repository": source or recording.name, "path": recording.name, "recorded": day}
        made = cards(found, origin, {card.id for card in load(to)} if to.is_dir() else ())
    except CardError as error:
        raise Permanent("NoCards", str(error)) from None
    try:
        to.mkdir(parents=True, exist_ok=True)
        for card in made:
            text = inert.as_json(as_data(card), indent=2, ascii_only=False) + "\n"
            files.write(to / f"{card.id}.json", text.encode())
    except OSError as error:
        why = error.strerror or str(error)
        raise Permanent("NoCards", f"cannot write to `{to}`: {why}; name another --to") from None
    left = len(found) - len(made)
    others = f"; {left} other exchange{'s are' if left > 1 else ' is'} left out" if left else ""
    session.out(f"{len(made)} card{'s' if len(made) != 1 else ''} in {to}{others}")
    if made:
        session.note("names of resources, tags and variables stay in them: read them before use")
    return Exit.OK


def _is_date(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return False
    return True

"""`python -m conformance`: hold an emulator against recordings, record some, run scripts."""

from __future__ import annotations

import argparse
import json
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path

from conformance.card import RECORDED, CardError, as_data, load
from conformance.client import AddressError, connect
from conformance.exchanges import exchanges
from conformance.making import cards
from conformance.scripts import TIMEOUT, run_folder, table
from conformance.verify import Score, Verdict
from conformance.verify import verify as compare_answers
from mlctl import files, inert
from mlctl.cli.emulator.command import running_instance
from mlctl.pointer import Data
from mlctl.service_errors import ServiceError

VERIFY = """\
Ask a running emulator again what was asked of Azure, and compare the answers. Each story of cards
gets a workspace in a subscription of its own. Exit code 1: an answer deviates, and not as
conformance/deviations.toml says.
"""
SCRIPTS = """\
Run the shell scripts of a folder with the `az` of mlctl, each on a copy of the folder and a fresh
local workspace, and print where each of them ends. Scripts are run as they are: read them first.
Exit code 1: one of them failed, or an `az` in it did.
"""
RECORD = """\
Write a recording of exchanges with Azure Machine Learning as cards, one file each. Ids, names of
workspaces and people, keys, tokens and signatures are blotted out. Names of resources, tags and
values of variables are not: read the cards before you give them away.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0, 1 (it failed, or an answer deviates) or 2 (usage)."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return _COMMANDS[options.command](options)
    except AddressError as error:
        parser.error(str(error))
    except (CardError, ServiceError) as error:
        print(f"ERROR: {getattr(error, 'message', error)}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m conformance", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "verify", help="compare an emulator with cards", description=VERIFY
    )
    command.add_argument("folder", nargs="?", type=Path, default=RECORDED, help="the cards")
    command.add_argument(
        "--url", help="the emulator; the one that runs in this folder if not given"
    )
    command.add_argument("--ca-file", type=Path, help="the authority of its certificate, for --url")
    command.add_argument("--token", help="what it wants of callers, for --url")
    command.add_argument("--json", action="store_true", help="every deviation, as JSON")
    command.add_argument("--verbose", action="store_true", help="print what deviates")
    command = commands.add_parser(
        "scripts", help="run the shell scripts of a folder", description=SCRIPTS
    )
    command.add_argument("folder", type=Path, help="the folder; scripts are `*.sh` in it or below")
    command.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds for each script")
    command = commands.add_parser("record", help="make cards of a recording", description=RECORD)
    command.add_argument(
        "recording",
        type=Path,
        help="a file of `mlctl emulator start --record`, a HAR file, or a recording of the tests of"
        " Azure's SDKs or of Azure PowerShell",
    )
    command.add_argument("--to", type=Path, required=True, help="the folder of the cards")
    command.add_argument("--source", help="where it is from; the file's name if not given")
    command.add_argument(
        "--recorded", type=date.fromisoformat, help="when; the file's date otherwise"
    )
    return parser


def scripts(options: argparse.Namespace) -> int:
    """Run the scripts of a folder, and print where each of them ends."""
    ends = list(run_folder(options.folder.resolve(), timeout=options.timeout))
    if not ends:
        raise CardError(f"`{options.folder}` has no scripts: files `*.sh`")
    print(table(ends))
    return 0 if all(end.passed for end in ends) else 1


def verify(options: argparse.Namespace) -> int:
    """Hold the running emulator against cards, and print what came of them."""
    url, ca_file, token = options.url, options.ca_file, options.token
    if url is None:
        running = running_instance()
        url, token = running.url, running.token
        ca_file = Path(running.ca_file) if running.ca_file else None
    tried = load(options.folder)
    if not tried:
        raise CardError(f"`{options.folder}` has no cards: files `*.json`")
    with connect(url, ca_file, token) as service:
        run = uuid.uuid4().hex[:8]
        verdicts = tuple(compare_answers(tried, lambda: service, load(), run))
    if options.json:
        print(inert.as_json([_as_json(verdict) for verdict in verdicts], indent=2))
    else:
        print("\n".join(_lines(verdicts, verbose=options.verbose)))
    return int(any(verdict.unexpected for verdict in verdicts))


def _lines(verdicts: Iterable[Verdict], *, verbose: bool) -> Iterator[str]:
    """A line for each kind, those of its deviations where they are wanted, and the sum."""
    verdicts_by_kind: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        verdicts_by_kind.setdefault(verdict.card.kind, []).append(verdict)
    width = max(map(len, verdicts_by_kind))
    for kind, of_kind in sorted(verdicts_by_kind.items()):
        score = Score.of(of_kind)
        line = f"{kind:<{width}}  status {score.status}/{score.cards}"
        line += f"  whole {score.whole}/{score.cards}"
        yield line + (f"  deviating {score.deviating}" if score.deviating else "")
        for verdict in of_kind if verbose else ():
            yield from (f"  {verdict.card.id} {deviation}" for deviation in verdict.unexpected)
            yield from (f"  {verdict.card.id}: {trouble}" for trouble in verdict.troubles)
    yield str(Score.of(verdict for of_kind in verdicts_by_kind.values() for verdict in of_kind))


def _as_json(verdict: Verdict) -> Data:
    return {
        "id": verdict.card.id,
        "kind": verdict.card.kind,
        "status": verdict.status_agrees,
        "whole": not verdict.deviations,
        "deviations": [
            {**asdict(deviation), "expected": deviation not in verdict.unexpected}
            for deviation in verdict.deviations
        ],
        "troubles": list(verdict.troubles),
    }


def record(options: argparse.Namespace) -> int:
    """Write a recording as cards, one file each."""
    recording, folder = options.recording, options.to
    recorded = exchanges(recording)
    day = options.recorded or datetime.fromtimestamp(recording.stat().st_mtime, UTC).date()
    origin = {
        "repository": options.source or recording.name,
        "path": recording.name,
        "recorded": f"{day:%Y-%m-%d}",
    }
    new_cards = cards(recorded, origin, [card.id for card in load(folder)])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for card in new_cards:
            text = json.dumps(as_data(card), indent=2, ensure_ascii=False) + "\n"
            files.write(folder / f"{card.id}.json", text.encode())
    except OSError as error:
        raise CardError(f"cannot write to `{folder}`: {error.strerror or error}") from None
    skipped = len(recorded) - len(new_cards)
    left_out = f"; {skipped} other exchange{'s are' if skipped > 1 else ' is'} left out"
    cards_in = f"{len(new_cards)} card{'s' if len(new_cards) != 1 else ''} in {folder}"
    print(cards_in + (left_out if skipped else ""))
    if new_cards:
        note = "names of resources, tags and variables stay in them: read them before use"
        print(f"note: {note}", file=sys.stderr)
    return 0


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "verify": verify,
    "scripts": scripts,
    "record": record,
}

if __name__ == "__main__":
    sys.exit(main())

"""How fast mlctl is, beside its peers where this machine has them: `make bench`.

    python -m bench.run [--runs 5] [--quick] [WORD]   only the parts or rows whose name has WORD

One table: commands beside other programs, what teams run beside a plain plan, the event engine
beside SimPy, the azure backend and the emulator beside Azure's SDK. Times are medians of the clock
on the wall, unless a part says otherwise. The exit code is 1 where a target is missed; a peer that
is absent misses none.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from bench import cloud, commands, engine, forecast, rehearsal, teams
from bench.figure import HEAD, Figure, absent

PEERS = """\
An absent peer: `make bench` installs SimPy, check-jsonschema and azure-ai-ml where it reaches a
package index (the extra `bench`); terraform is looked for on PATH (developer.hashicorp.com)."""


def main() -> int:
    """Measure, and print the table; 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="smaller worlds")
    parser.add_argument("word", nargs="?", default="")
    given = parser.parse_args()
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )
    print(f"\n{HEAD}")
    found = []
    for figure in figures(given.word, given.runs, quick=given.quick):
        print(figure.line(), flush=True)
        found.append(figure)
    if any(figure.theirs == "absent" for figure in found):
        print(f"\n{PEERS}")
    return int(any(figure.met is False for figure in found))


def figures(word: str, runs: int, *, quick: bool) -> Iterator[Figure]:
    """Every figure of the parts and rows that are asked for."""
    with tempfile.TemporaryDirectory() as scratch:
        for row in commands.rows(Path(scratch), quick=quick):
            if word in row.what:
                yield commands.figure(row, runs)
        if word in "simulated cloud":
            yield from cloud.figures(Path(scratch), runs, quick=quick)
        if word in "teams":
            yield from teams.figures(Path(scratch), runs)
    if word in "event engine":
        yield from engine.figures(quick=quick)
    if word in "forecasts":
        yield from forecast.figures(quick=quick)
    if word in "rehearsal":
        yield from rehearsal.figures(quick=quick)
    if word in "azure emulator":
        yield from _azure(runs, quick=quick)


def _azure(runs: int, *, quick: bool) -> Iterator[Figure]:
    """The part that needs Azure's SDK in this very environment."""
    if not all(map(find_spec, ("azure", "uvicorn", "cryptography"))):
        yield absent("azure backend and emulator", "not measured", "MLClient")
        return
    from bench import azure

    yield from azure.figures(runs, quick=quick)


if __name__ == "__main__":
    sys.exit(main())

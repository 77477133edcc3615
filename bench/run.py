"""How fast mlctl is, beside its peers where this machine has them: `make bench`.

    python -m bench.run [--runs 3] [--quick | --long] [WORD]   only what has WORD in its name

One table: commands beside other programs, what teams run beside a plain plan, the event engine
beside SimPy, the azure backend and the emulator beside Azure's SDK. Times are medians of the clock
on the wall, unless a part says otherwise. It takes some five minutes; `--long` measures the largest
worlds, too. The exit code is 1 where a target is missed; a peer that is absent misses none.
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
from time import perf_counter

from bench import cloud, commands, engine, forecast, rehearsal, running, teams, traces
from bench.figure import HEAD, Effort, Figure, absent

MEMORY = Path("/dev/shm")  # files in memory, where the system has such a folder
PEERS = """\
An absent peer: `make bench` installs SimPy, check-jsonschema and azure-ai-ml where it reaches a
package index (the extra `bench`); terraform is looked for on PATH (developer.hashicorp.com)."""


def main() -> int:
    """Measure, and print the table; 1 where a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="smaller worlds")
    parser.add_argument("--long", action="store_true", help="the largest worlds, too")
    parser.add_argument("word", nargs="?", default="")
    given = parser.parse_args()
    effort = Effort(given.runs, quick=given.quick, long=given.long)
    began = perf_counter()
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )
    print(f"\n{HEAD}")
    found = []
    for figure in figures(given.word, effort):
        print(figure.line(), flush=True)
        found.append(figure)
    missed = sum(figure.met is False for figure in found)
    print(f"\n{len(found)} rows, {missed} missed, in {perf_counter() - began:.0f} s")
    if any(figure.theirs == "absent" for figure in found):
        print(f"\n{PEERS}")
    return int(missed > 0)


def figures(word: str, effort: Effort) -> Iterator[Figure]:
    """Every figure of the parts and rows that are asked for."""
    with tempfile.TemporaryDirectory() as scratch:
        yield from commands.figures(Path(scratch), word, effort)
        if word in "simulated cloud":
            yield from cloud.figures(Path(scratch), effort)
    if word in "teams":
        with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
            yield from teams.figures(Path(scratch), effort)
    if word in "event engine":
        yield from engine.figures(effort)
    if word in "forecasts":
        yield from forecast.figures(effort)
    if word in "spot traces":
        yield from traces.figures(effort)
    if word in "rehearsal":
        yield from rehearsal.figures(effort)
    if word in "running code":
        yield from running.figures(effort)
    if word in "azure emulator":
        yield from _azure(effort)


def _azure(effort: Effort) -> Iterator[Figure]:
    """The part that needs Azure's SDK in this very environment."""
    if not all(map(find_spec, ("azure", "uvicorn", "cryptography"))):
        yield absent("azure backend and emulator", "not measured", "MLClient")
        return
    from bench import azure

    yield from azure.figures(effort)


if __name__ == "__main__":
    sys.exit(main())

"""`make fuzz`: mutated input for a time; what ends as a bug, hangs or fills the memory fails.

`python -m tests.fuzz --seconds 60 --seed 1`; a failure prints the line that repeats it.
With `--cases` instead of `--seconds`, a seed always runs the same cases.
"""

from __future__ import annotations

import argparse
import math
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages

import mlctl
from tests.fuzz import (
    answers,
    command_lines,
    documents,
    kinds_of_files,
    plans,
    projects,
    requests,
    states,
)
from tests.fuzz.batches import Result, Surface, run_batch

SURFACES: dict[str, Surface] = {
    "documents": documents.case,
    "command-lines": command_lines.case,
    "kinds-of-files": kinds_of_files.case,
    "states": states.case,
    "plans": plans.plans,
    "journals": plans.journals,
    "policies": projects.policies,
    "variables": projects.variables,
    "pulls": projects.pulls,
    "requests": requests.case,
    "answers": answers.case,
}
BATCH = 20  # cases that share a process
SLICES = 30  # of the time, each for one surface after the other


def main() -> int:
    """Fuzz; the exit code is 1 where anything failed."""
    options = _options()
    _import_everything()
    print(f"seed {options.seed}", flush=True)
    results: list[Result] = []
    causes: set[str] = set()
    for result in _results(options):
        results.append(result)
        if result.why and result.cause not in causes:
            causes.add(result.cause)
            print(result.text(options.seed), flush=True)
    for surface, number in Counter(one.surface for one in results).items():
        print(f"{number:6} {surface}")
    slowest = max(results, key=lambda one: one.seconds)
    biggest = max(results, key=lambda one: one.megabytes)
    print(f"most CPU: {slowest.seconds:.1f} s ({slowest.name}); ", end="")
    print(f"most memory: {biggest.megabytes} MB ({biggest.name})")
    failed = sum(bool(one.why) for one in results)
    print(f"{len(results)} cases, {failed} failures (seed {options.seed})")
    return 1 if failed else 0


def _results(options: argparse.Namespace) -> Iterator[Result]:
    """Cases of all surfaces in turn, until the time is over or as many as are asked for."""
    if options.only:
        surface, _, number = options.only.partition(":")
        first = int(number or 0)
        yield from _batch(surface, options.seed, range(first, first + (1 if number else BATCH)))
        return
    until = math.inf if options.cases else time.monotonic() + options.seconds
    for first in range(0, options.cases or sys.maxsize, BATCH):
        for surface in _possible():
            if first and time.monotonic() > until:  # each surface has one turn at least
                return
            turn = min(until, time.monotonic() + options.seconds / SLICES)
            numbers = range(first, min(first + BATCH, options.cases or sys.maxsize))
            yield from _batch(surface, options.seed, numbers, math.inf if options.cases else turn)


def _import_everything() -> None:
    """Import what commands import when they need it: once here, and not in each process."""
    for module in walk_packages(mlctl.__path__, "mlctl."):
        if not module.name.endswith("__main__"):
            with suppress(ModuleNotFoundError):  # of an extra that is not installed
                import_module(module.name)


def _possible() -> Iterator[str]:
    """The surfaces that what is installed allows."""
    for name in SURFACES:
        if name != "answers" or find_spec("azure"):
            yield name


def _batch(surface: str, seed: int, numbers: range, until: float = math.inf) -> Iterator[Result]:
    """Run cases; one that ends its process is followed by the rest in another."""
    while numbers:
        results = run_batch(surface, SURFACES[surface], seed, numbers, until)
        yield from results
        numbers = numbers[len(results) :]
        if time.monotonic() > until:
            return


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("tests.fuzz")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, help="of each surface; instead of a time")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument(
        "--only", default="", help=f"SURFACE or SURFACE:NUMBER; {', '.join(SURFACES)}"
    )
    return parser.parse_args()


sys.exit(main())

"""Which changes of a module its tests do not see: `make mutants FILE=mlctl/x/y.py`.

    python -m bench.mutants FILE [--tests PATH...]

cosmic-ray changes one operator, number or condition after the other, in a copy of this checkout,
and runs the tests of the module's room each time (those that are not slow). What survives is
printed as a diff: a test is missing there, or the change makes no difference.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import join

from bench.ratchet import ROOT

COPIED = ("mlctl", "schemas", "samples", "tests", "bench", "docs", "conformance", "pyproject.toml")
# What makes no difference in annotations, what mypy sees, and what is one mutation too many: an
# operator is replaced by its opposite and by a neighbour.
EXCLUDED = (
    "core/ReplaceBinaryOperator_BitOr_.*",
    "core/ReplaceBinaryOperator_.*_(Pow|RShift|LShift|BitOr|BitAnd|BitXor|Mod|FloorDiv)",
    "core/ReplaceComparisonOperator_Eq_(?!NotEq).*",
    "core/ReplaceComparisonOperator_NotEq_(?!Eq).*",
    "core/ReplaceComparisonOperator_(Lt|LtE|Gt|GtE)_(Eq|NotEq|Is|IsNot)",
    "core/ReplaceComparisonOperator_Is_(?!IsNot).*",
    "core/ReplaceComparisonOperator_IsNot_(?!Is).*",
    "core/RemoveDecorator",
)
SECONDS = 120.0  # of the tests; a change that makes them run longer is caught


def main() -> int:
    """Try every change of a module, and print those that survive."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--tests", nargs="+", type=Path)
    arguments = parser.parse_args()
    module = arguments.file.resolve().relative_to(ROOT)
    tests = arguments.tests or [_room(module)]
    with tempfile.TemporaryDirectory() as scratch:
        checkout = _copied(Path(scratch))
        config = _configured(checkout, module, tests)
        print(f"{module}, by {join(map(str, tests))}", flush=True)
        _cosmic_ray(checkout, "baseline", config)
        _cosmic_ray(checkout, "init", config, "session.sqlite")
        _run(checkout, "cr-filter-operators", "session.sqlite", config)
        _cosmic_ray(checkout, "exec", config, "session.sqlite")
        dumped = _run(checkout, "cosmic-ray", "dump", "session.sqlite")
    diffs = list(_diffs(dumped.splitlines()))
    survived = [diff for caught, diff in diffs if not caught]
    print(*survived, sep="\n")
    print(f"{len(diffs) - len(survived)} of {len(diffs)} changes of {module} are caught")
    return 0


def _room(module: Path) -> Path:
    """The tests of the folder that a module is in; those of its own where it is in none."""
    inside = module.relative_to("mlctl")
    if inside.parent == Path():
        return Path("tests") / f"test_{inside.stem}.py"
    return "tests" / inside.parent


def _copied(folder: Path) -> Path:
    for name in COPIED:
        path = ROOT / name
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, folder / name, symlinks=True, ignore=ignored)
            compileall.compile_dir(folder / name, quiet=2)
        elif path.exists():
            shutil.copy(path, folder / name)
    return folder


def _configured(checkout: Path, module: Path, tests: Sequence[Path]) -> str:
    """The name of cosmic-ray's settings, which are written."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider"]
    command = join([*words, "-m", "not slow", *map(str, tests)])
    lines = (
        "[cosmic-ray]",
        f"module-path = {json.dumps(str(module))}",
        f"timeout = {SECONDS}",
        "excluded-modules = []",
        f"test-command = {json.dumps(command)}",
        "[cosmic-ray.distributor]",
        'name = "local"',
        "[cosmic-ray.filters.operators-filter]",
        f"exclude-operators = {json.dumps(EXCLUDED)}",
    )
    (checkout / "mutants.toml").write_text("\n".join(lines) + "\n")
    return "mutants.toml"


def _cosmic_ray(checkout: Path, *words: str) -> None:
    _run(checkout, "cosmic-ray", *words)


def _run(checkout: Path, program: str, *words: str) -> str:
    """What a program of this environment prints.

    Raises:
        SystemExit: it failed, as `baseline` does where the tests fail without a change.
    """
    path = Path(sys.executable).parent / program
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [path, *words], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{program} {join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _diffs(lines: Sequence[str]) -> Iterator[tuple[bool, str]]:
    """Whether each change that was tried is caught, and its diff."""
    for line in lines:
        _, result = json.loads(line)
        if result and result["worker_outcome"] == "normal":
            yield result["test_outcome"] != "survived", result["diff"]


if __name__ == "__main__":
    sys.exit(main())

"""Budgets that may only fall: `bench/budgets.toml`, read and held against its own history.

A budget above the lowest that was ever committed is refused, unless a row of the table in
`docs/decisions/0071-budgets.md` names it with the new value and the reason.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGETS = "bench/budgets.toml"
DECISION = "docs/decisions/0071-budgets.md"

Budgets = Mapping[str, float]


def load(root: Path = ROOT) -> Budgets:
    """Every budget by its name (`calls.validate one file`)."""
    return _parse((root / BUDGETS).read_text(encoding="utf-8"))


def raised(root: Path = ROOT) -> Iterator[str]:
    """One sentence for each budget that is above its lowest value and that no decision allows.

    Where git does not know the folder (a source distribution), nothing is known of the past.
    """
    allowed = _allowed(root / DECISION)
    lowest = _lowest(root)
    for name, budget in load(root).items():
        if budget > lowest.get(name, budget) and allowed.get(name, 0) < budget:
            yield (
                f"the budget of {name} is {budget:,}, and was {lowest[name]:,}: budgets only fall; "
                f"one that has to rise needs a row in {DECISION}"
            )


def _parse(text: str) -> Budgets:
    return {
        f"{topic}.{name}": budget
        for topic, budgets in tomllib.loads(text).items()
        for name, budget in budgets.items()
    }


def _lowest(root: Path) -> Budgets:
    """The lowest value of each budget in all commits that lead here."""
    lowest: dict[str, float] = {}
    for commit in _git(root, "log", "--format=%H", "--", BUDGETS).split():
        for name, budget in _parse(_git(root, "show", f"{commit}:./{BUDGETS}")).items():
            lowest[name] = min(budget, lowest.get(name, budget))
    return lowest


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return "" if done.returncode else done.stdout


def _allowed(page: Path) -> Mapping[str, float]:
    """The highest value of each budget in the decision's table."""
    rows = re.findall(
        r"^\| `(.+?)` \| [^|]* \| ([\d,.]+) \|", page.read_text("utf-8"), re.MULTILINE
    )
    allowed: dict[str, float] = {}
    for name, value in rows:
        allowed[name] = max(float(value.replace(",", "")), allowed.get(name, 0))
    return allowed

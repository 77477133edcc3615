"""What mlctl makes of published lines of `az ml`: read, refused with a reason, or not known."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import Enum

from mlctl.cli.app import build
from mlctl.cli.az.compatibility import compatibility
from mlctl.cli.parser import arguments
from mlctl.cli.parser.arguments import UsageError


class Verdict(Enum):
    """How a line ends before anything is done."""

    READ = "read"
    REFUSED = "refused with the reason"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of `az ml`, and why az refuses it; "" where az takes it."""

    text: str
    wrong: str

    @property
    def verdict(self) -> Verdict:
        """What mlctl makes of it; variables and placeholders are names as any other."""
        _, _, *args = shlex.split(self.text)
        try:
            arguments.read(args, build(args[0]), compatibility().absent)
        except UsageError as error:
            is_named = "is not supported:" in str(error)
            return Verdict.REFUSED if is_named else Verdict.UNKNOWN
        return Verdict.READ


def lines(text: str) -> list[Line]:
    """The lines of the data file."""
    rows = (row.partition("\t") for row in text.splitlines() if row and row[0] != "#")
    return [Line(row, wrong) for row, _, wrong in rows]


def summary(published: list[Line]) -> str:
    """How many are read, refused and wrong, as Markdown."""
    right = [line.verdict for line in published if not line.wrong]
    counts = ", ".join(f"{right.count(verdict)} {verdict.value}" for verdict in Verdict)
    share = 100 * (len(right) - right.count(Verdict.UNKNOWN)) / len(right)
    return (
        f"**Of {len(right)} lines of published scripts, workflows and pages in these groups:"
        f" {counts}; that is {share:.0f} %.** {len(published) - len(right)} more are lines that az"
        " refuses, too (`docs/data/az-lines.tsv`).\n"
    )

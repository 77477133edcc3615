"""How a rehearsal is written, of whichever kind it is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mlctl.cli.exits import Exit
from mlctl.cli.session import Session
from mlctl.diagnostics import Report


class RehearsalFormat(StrEnum):
    """How a rehearsal is written."""

    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"


@dataclass(frozen=True, slots=True)
class Output:
    """Where a rehearsal is written, and how; `words` are those that ask for the same again."""

    session: Session
    form: RehearsalFormat
    words: Sequence[str]

    def again(self, kill: int | None) -> str:
        """How to run one kill again."""
        return f"again: {shlex.join([*self.words, '--kill', str(kill)])}"

    def write(
        self, report: Report, views: Mapping[RehearsalFormat, Callable[[], str]], summary: str
    ) -> Exit:
        """Write the view that was asked for; else the findings and a summary, for people."""
        from mlctl.render import diagnostics

        view = views.get(self.form)
        if view is not None:
            self.session.out_data(view())
        else:
            color = self.session.color(sys.stdout)
            text = diagnostics.report(report, color=color, width=self.session.width)
            self.session.out(text + ("\n" if text else "") + summary)
        return Exit.ERROR if report.failed else Exit.OK

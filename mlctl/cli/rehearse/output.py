"""How a rehearsal is written, of whichever kind it is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from mlctl.cli.shell import Exit, Session
from mlctl.dataclasses import dataclass, replace
from mlctl.diagnostics import Report

if TYPE_CHECKING:
    from mlctl.rehearsal.stage import Stage


class RehearsalFormat(StrEnum):
    """How a rehearsal is written."""

    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Output:
    """Where a rehearsal is written, and how; `words` are those that ask for the same again.

    With `strict` warnings fail, too.
    """

    session: Session
    form: RehearsalFormat
    words: Sequence[str]
    strict: bool = False

    def again(self, kill: int | None) -> str:
        """How to run one kill again."""
        return f"again: {shlex.join([*self.words, '--kill', str(kill)])}"

    @contextmanager
    def watched(self, stage: Stage) -> Iterator[Stage]:
        """The stage with a table of nodes and mini-batches, where people sit at a terminal."""
        if self.session.quiet or not self.session.color(sys.stderr):
            yield stage
            return
        from mlctl.render.rehearsal.live import viewing

        with viewing(sys.stderr) as view:

            def begin(name: str, total: int) -> None:
                stage.progress(name, total)
                view.begin(name, total)

            yield replace(stage, progress=begin, on_event=view.show)

    def write(
        self, report: Report, views: Mapping[RehearsalFormat, Callable[[], str]], summary: str
    ) -> Exit:
        """Write the view that was asked for; else the findings and a summary, for people."""
        from mlctl.render.findings import diagnostics

        view = views.get(self.form)
        if view is not None:
            self.session.out_data(view())
        else:
            color = self.session.color(sys.stdout)
            text = diagnostics.report(report, color=color, width=self.session.width)
            self.session.out(text + ("\n" if text else "") + summary)
        return Exit.ERROR if report.failed else Exit.OK

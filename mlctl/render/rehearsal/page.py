"""A rehearsal as an HTML page: the findings, and the timeline of each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from mlctl.rehearsal.evidence import CodeLine, Evidence
from mlctl.rehearsal.losses import REPLACEMENT_S
from mlctl.rehearsal.scoring.outcome import RehearsalOutcome
from mlctl.rehearsal.scoring.rehearsal import Rehearsal
from mlctl.rehearsal.stage import SlotSpan
from mlctl.rehearsal.training.model import Life, Trained
from mlctl.rehearsal.training.rehearsal import TrainingRehearsal
from mlctl.render.page import html as page
from mlctl.render.page.html import HtmlTable, Page, Part, Prose, Timeline
from mlctl.render.page.svg import Lane, Stretch
from mlctl.render.rehearsal.report import Again

_TICKS = 5
_DRAWN = 40  # runs with losses that get a timeline
_TITLE = "Rehearsal"
_MARK = 50  # the share of a timeline that marks the end of a lost life


def scoring(rehearsal: Rehearsal, summary: str, again: Again) -> str:
    """Return the page of a batch deployment; `summary` is the terminal's."""
    parts: list[Part] = [
        Prose("", tuple(summary.splitlines())),
        *_list_findings(rehearsal.evidence, again),
    ]
    parts += [_kills(rehearsal), _timeline("Without a loss", rehearsal.first, rehearsal)]
    for run in rehearsal.runs[:_DRAWN]:
        kills = ", ".join(
            f"kill {kill.loss.number}: node {kill.loss.node + 1} lost {kill.loss.moment}"
            for kill in run.kills
        )
        parts.append(_timeline(kills or "Weather without a loss", run, rehearsal))
    return page.document(Page(_TITLE, rehearsal.deployment.script.name, tuple(parts)))


def training(rehearsal: TrainingRehearsal, summary: str, again: Again) -> str:
    """Return the page of a training job."""
    rows = tuple(
        (
            f"{number}, life {at}" if len(run.lives) > 1 else str(number),
            _place(life.stopped_at),
            (life.cut or "").rpartition("/code/")[2],
            str(_reached(life)),
            "lost" if life.lost else f"exit code {life.code}",
        )
        for number, _, run in rehearsal.runs
        for at, life in enumerate(run.lives, 1)
    )
    heads = ("kill", "line", "half-written", "lines executed", "end")
    parts: list[Part] = [
        Prose("", tuple(summary.splitlines())),
        *_list_findings(rehearsal.evidence, again),
    ]
    if rows:
        parts.append(HtmlTable("Kills", heads, rows, numbers=False))
    runs = [("Without a loss", rehearsal.calm)]
    runs += [(f"Kill {number}", run) for number, _, run in rehearsal.runs[:_DRAWN]]
    parts += [_lives(title, run) for title, run in runs]
    return page.document(Page(_TITLE, rehearsal.training.command, tuple(parts)))


def _list_findings(evidence: Sequence[Evidence], again: Again) -> Iterator[Part]:
    """List the findings, and how to reproduce them."""
    rows = tuple(
        (
            item.rule.code,
            _place(item.place),
            item.message,
            item.rule.documented().fix if item.kill is None else again(item.kill),
        )
        for item in evidence
    )
    if rows:
        yield HtmlTable("Findings", ("rule", "line", "what", "next"), rows, numbers=False)


def _kills(rehearsal: Rehearsal) -> HtmlTable:
    rows = tuple(
        (
            str(kill.loss.number),
            f"node {kill.loss.node + 1}",
            f"{kill.loss.at:.0f} s",
            kill.loss.moment.value,
            ", ".join(map(_place, kill.places)),
            ", ".join(map(str, kill.mini_batches)) or "none",
            ", ".join(
                item.rule.code for item in rehearsal.evidence if item.kill == kill.loss.number
            ),
        )
        for run in rehearsal.runs
        for kill in run.kills
    )
    heads = ("kill", "node", "at", "moment", "line", "mini-batches that ran again", "found")
    note = "Times are virtual: those of the simulated cloud, not of this machine."
    return HtmlTable("Kills", heads, rows, note, numbers=False)


def _timeline(title: str, run: RehearsalOutcome, rehearsal: Rehearsal) -> Timeline:
    """Draw a lane per slot: `init` prepares it, a mini-batch runs, a lost node is away."""
    length = max((span.end for span in run.timeline), default=0.0)
    places = sorted({(span.node, span.slot) for span in run.timeline})
    several = rehearsal.deployment.slots > 1
    lanes = tuple(
        Lane(
            f"node {node + 1}.{slot + 1}" if several else f"node {node + 1}",
            tuple(
                spell
                for span in run.timeline
                if (span.node, span.slot) == (node, slot)
                for spell in _spells(span)
            )
            + tuple(
                Stretch("lost", kill.loss.at, min(length, kill.loss.at + REPLACEMENT_S))
                for kill in run.kills
                if kill.loss.node == node
            ),
        )
        for node, slot in places
    )
    return Timeline(title, length, lanes, _ticks(length, "s"))


def _spells(span: SlotSpan) -> Iterator[Stretch]:
    state = "failed" if span.end_state == "failed" else "running"
    yield Stretch("preparing" if span.mini_batch is None else state, span.start, span.end)


def _lives(title: str, run: Trained) -> Timeline:
    """Draw a lane per life, as long as the lines that it executed."""
    longest = max(map(_reached, run.lives), default=0)
    lanes = tuple(
        Lane(f"life {number}", tuple(_life(life, longest)))
        for number, life in enumerate(run.lives, 1)
    )
    return Timeline(title, longest, lanes, _ticks(longest, "lines"))


def _life(life: Life, longest: int) -> Iterator[Stretch]:
    yield Stretch("running", 0, _reached(life))
    if life.lost:
        yield Stretch("lost", _reached(life), _reached(life) + ceil(longest / _MARK))


def _reached(life: Life) -> int:
    """Count the lines that a life executed; for a lost one, up to its last write."""
    return life.events or max((write.events for write in life.writes), default=0)


def _ticks(length: float, unit: str) -> tuple[str, ...]:
    return tuple(f"{length * at / (_TICKS - 1):.0f} {unit}" for at in range(_TICKS))


def _place(place: CodeLine | None) -> str:
    return f"{place.file}:{place.line}" if place else ""

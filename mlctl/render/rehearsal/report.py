"""A rehearsal as findings, as a three-line summary, JSON and JUnit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from mlctl import inert
from mlctl.diagnostics import Diagnostic, Label, Report, SourceText, Span
from mlctl.pointer import Data
from mlctl.rehearsal.evidence import CodeLine, Evidence
from mlctl.rehearsal.losses import Moment
from mlctl.rehearsal.scoring.outcome import RehearsalOutcome, Status
from mlctl.rehearsal.scoring.rehearsal import Rehearsal
from mlctl.rehearsal.training.model import Trained
from mlctl.rehearsal.training.rehearsal import TrainingRehearsal
from mlctl.render.findings import machine
from mlctl.render.terminal.terminal import clean
from mlctl.schema.text import counted

Again = Callable[[int | None], str]  # the options that repeat a kill


def findings(evidence: tuple[Evidence, ...], code: Path, again: Again) -> Iterator[Diagnostic]:
    """Yield the findings at their lines; `code` is the script's folder as the user named it."""
    sources: dict[str, SourceText] = {}
    for item in evidence:
        hint = again(item.kill) if item.kill is not None else item.rule.documented().fix
        label = _label(item.place, code, sources) if item.place is not None else None
        yield Diagnostic(item.rule, item.message, label, hint)


def _label(place: CodeLine, code: Path, sources: dict[str, SourceText]) -> Label:
    path = code / place.file
    if place.file not in sources:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            text = ""
        sources[place.file] = SourceText(str(path), text)
    source = sources[place.file]
    line = place.line - 1
    text = source.lines[line] if line < len(source.lines) else ""
    bare = text.partition("  #")[0].rstrip()
    start = len(text) - len(text.lstrip())
    return Label(Span(source, line, start, line, max(len(bare), start + 1)))


def summary(rehearsal: Rehearsal, report: Report) -> str:
    """Summarize in three lines: the calm run, the kills, the verdict."""
    deployment, first = rehearsal.deployment, rehearsal.first
    rows = first.all_rows().total()
    files = f", {counted(len(first.files), 'file')}" if first.files else ""
    workers = f"{counted(deployment.nodes, 'node')} x {counted(deployment.slots, 'worker')}"
    unit = "row" if rehearsal.inputs.tabular else "input"
    batches = counted(len(rehearsal.mini_batches), "mini-batch", "mini-batches")
    calm = (
        f"Calm:    {counted(len(rehearsal.inputs.names), unit)} in {batches} on {workers}:"
        f" {counted(rows, 'row')}{files}"
    )
    if first.stand_ins:
        calm += f"; stand-ins for {', '.join(sorted(first.stand_ins))}"
    lines = [calm, f"Kills:   {_kills(rehearsal)}"]
    good = "survives: every input is scored once, none lost, none duplicated"
    if rehearsal.runs and all(_canceled(run) for run in rehearsal.runs):
        good = "the job was cancelled because its last node was lost; that shows nothing"
    return "\n".join([*lines, f"Verdict: {_verdict(report, good, rehearsal)}"])


def _verdict(report: Report, good: str, rehearsal: Rehearsal | TrainingRehearsal) -> str:
    verdict, unfinished = good, ""
    if rehearsal.stopped is not None:
        runs = counted(len(rehearsal.runs), "run with losses", "runs with losses")
        verdict = f"unfinished; no findings in {runs}"
        unfinished = f"unfinished, after {runs}; "
    if report:
        counts = Counter(finding.rule.code for finding in report)
        names = ", ".join(
            f"{code} ({count})" if count > 1 else code for code, count in sorted(counts.items())
        )
        word = "does not survive" if report.failed else "survives, with warnings"
        verdict = f"{unfinished}{word}: {names}"
    return verdict


def training_summary(rehearsal: TrainingRehearsal, report: Report) -> str:
    """Summarize in three lines: the calm run, the kills, the verdict."""
    life = rehearsal.calm.lives[0]
    files = counted(len(rehearsal.calm.files), "file")
    unlike = (
        f", {len(rehearsal.unlike)} of them differ between two calm runs"
        if rehearsal.unlike
        else ""
    )
    nodes = (
        f" on {counted(rehearsal.training.nodes, 'node')}" if rehearsal.training.distributed else ""
    )
    good = "survives: resumes from its checkpoints, and ends with the same files"
    if rehearsal.starts_over:
        good = "ends with the same files, but starts over each time: it writes no checkpoint"
    elif not rehearsal.runs or all(len(run.lives) == 1 for _, _, run in rehearsal.runs):
        good = "runs; no node was lost meanwhile"
    return "\n".join(
        [
            f"Calm:    {counted(life.events, 'line')} executed{nodes},"
            f" {counted(len(life.saved), 'write')} to outputs, {files} in the end{unlike}",
            f"Kills:   {_count_losses(rehearsal)}",
            f"Verdict: {_verdict(report, good, rehearsal)}",
        ]
    )


def _count_losses(rehearsal: TrainingRehearsal) -> str:
    """Count the losses by what the training was doing."""
    lost = [life for _, _, run in rehearsal.runs for life in run.lives if life.lost]
    if not lost:
        return "none"
    halves = sum(life.cut is not None for life in lost)
    moments = f"{len(lost) - halves} at some line, {halves} while a file is written"
    note = rehearsal.most_lives and "; then it runs undisturbed"
    return f"{counted(len(lost), 'node')} lost: {moments}{note or ''}"


def training_json(rehearsal: TrainingRehearsal, report: Report) -> str:
    """Return the rehearsal of a training job and its findings as data."""
    data: dict[str, Data] = {
        **machine.document(report),
        "finished": rehearsal.stopped is None,
        "seed": rehearsal.plan.schedule.seed,
        "calm": _training_run(rehearsal.calm),
        "runs": [{"kill": number, **_training_run(run)} for number, _, run in rehearsal.runs],
    }
    return inert.as_json(data, indent=2) + "\n"


def _training_run(run: Trained) -> dict[str, Data]:
    return {
        "files": sorted(run.files),
        "lives": [
            {
                "lines": life.events,
                "exit_code": life.code,
                "killed_at": f"{life.stopped_at.file}:{life.stopped_at.line}"
                if life.stopped_at
                else None,
                "half_written": life.cut,
            }
            for life in run.lives
        ],
    }


def training_junit(rehearsal: TrainingRehearsal) -> str:
    """Return a suite with a case for the calm run and one per kill."""
    runs: list[tuple[str, tuple[int, ...]]] = []
    for number, cuts, run in rehearsal.runs:
        moment = "while a file is written" if cuts[0].halves else "at some line"
        losses = counted(sum(life.lost for life in run.lives), "loss", "losses")
        name = f"kill {number}: {moment}" if len(cuts) == 1 else f"weather: {losses}"
        runs.append((name, (number,)))
    return _suite(rehearsal.evidence, runs)


def _kills(rehearsal: Rehearsal) -> str:
    moments = Counter(kill.loss.moment for run in rehearsal.runs for kill in run.kills)
    workers = moments.pop(Moment.TIMEOUT, 0)
    alone = f"{counted(workers, 'worker')} killed by a timeout" if workers else "none"
    if not moments:
        return alone
    canceled = sum(map(_canceled, rehearsal.runs))
    listed = ", ".join(f"{count} {moment}" for moment, count in moments.items())
    note = f"; {canceled} cancelled the job (the last node was lost)" if canceled else ""
    note += f"; {alone}" if workers else ""
    return f"{counted(moments.total(), 'node')} lost: {listed}{note}"


def _canceled(run: RehearsalOutcome) -> bool:
    return run.status is Status.CANCELED


def as_json(rehearsal: Rehearsal, report: Report) -> str:
    """Return the rehearsal and its findings as data, with times in virtual seconds."""
    deployment = rehearsal.deployment
    data: dict[str, Data] = {
        **machine.document(report),
        "finished": rehearsal.stopped is None,
        "seed": rehearsal.plan.seed,
        "nodes": deployment.nodes,
        "workers": deployment.workers,
        "mini_batch_size": deployment.mini_batch_size,
        "inputs": len(rehearsal.inputs.names),
        "mini_batches": len(rehearsal.mini_batches),
        "calm": _run(rehearsal.first),
        "runs": [_run(run) for run in rehearsal.runs],
    }
    return inert.as_json(data, indent=2) + "\n"


def _run(outcome: RehearsalOutcome) -> Data:
    return {
        "status": outcome.status.value,
        "rows": outcome.all_rows().total(),
        "files": sorted(outcome.files),
        "failed_mini_batches": sorted(outcome.failed),
        "kills": [
            {
                "kill": kill.loss.number,
                "node": kill.loss.node + 1,
                "at": kill.loss.at,
                "moment": kill.loss.moment.value,
                "lines": [f"{place.file}:{place.line}" for place in kill.places],
                "mini_batches": list(kill.mini_batches),
            }
            for kill in outcome.kills
        ],
        "timeline": [
            {
                "node": span.node + 1,
                "slot": span.slot + 1,
                "start": span.start,
                "end": span.end,
                "mini_batch": span.mini_batch,
                "state": span.end_state,
            }
            for span in outcome.timeline
        ],
    }


def as_junit(rehearsal: Rehearsal) -> str:
    """Return a suite with a case for the calm runs and one per run with losses."""
    runs: list[tuple[str, tuple[int, ...]]] = []
    for run in rehearsal.runs:
        losses = [kill.loss for kill in run.kills]
        moments = [f"kill {loss.number}: node {loss.node + 1} {loss.moment}" for loss in losses]
        name = ", ".join(moments) or "weather without a loss"
        runs.append((name, tuple(loss.number for loss in losses)))
    return _suite(rehearsal.evidence, runs)


def _suite(evidence: Sequence[Evidence], runs: Iterable[tuple[str, tuple[int, ...]]]) -> str:
    """Return a suite of the calm runs, and of runs by their names and the numbers of kills."""
    cases = [_case("calm", [item for item in evidence if item.kill is None])]
    cases += [
        _case(name, [item for item in evidence if item.kill in kills]) for name, kills in runs
    ]
    failed = sum("<failure" in case for case in cases)
    head = f'<testsuite name="mlctl rehearse" tests="{len(cases)}" failures="{failed}">'
    return (
        "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"
    )


def _case(name: str, evidence: list[Evidence]) -> str:
    if not evidence:
        return f'  <testcase classname="rehearsal" name={quoteattr(name)}/>'
    text = "\n".join(
        clean(f"{item.rule.code} {_at(item.place)}{item.message}") for item in evidence
    )
    message = quoteattr(clean(evidence[0].message))
    return (
        f'  <testcase classname="rehearsal" name={quoteattr(name)}>\n'
        f"    <failure message={message}>{escape(text)}</failure>\n  </testcase>"
    )


def _at(place: CodeLine | None) -> str:
    return f"{place.file}:{place.line}: " if place else ""

"""Compare a run with losses with the calm one: multisets of rows, and files."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import CodeLine, Evidence
from mlctl.rehearsal.losses import Moment
from mlctl.rehearsal.scoring.judge_calm import CalmScoring, equal_files
from mlctl.rehearsal.scoring.lines import Script
from mlctl.rehearsal.scoring.outcome import FileWrite, Kill, RehearsalOutcome, Status

_LOCKS = ("FileExistsError", "BlockingIOError", "Timeout", "Locked", "LockTimeout")
_BUSY = (errno.EEXIST, errno.EADDRINUSE, errno.EWOULDBLOCK, errno.EACCES)
_TOLD_APART = {rules.INPUT_DOUBLED.code, rules.INPUT_LOST.code}
_CHANGED = {rules.STATEFUL.code, rules.INPUT_DOUBLED.code, rules.INPUT_LOST.code}
_UNFINISHED = (".part", ".partial", ".tmp", ".temp", ".lock", ".crdownload", "~")


def judge(
    run: RehearsalOutcome, calm: CalmScoring, script: Script, settled: frozenset[str]
) -> Iterator[Evidence]:
    """Yield what a run with losses shows; `settled` are codes that the calm runs showed already.

    A run that was cancelled because its last node was lost shows nothing.
    """
    if not run.kills or run.status is Status.CANCELED:
        return
    evidence = []
    if rules.EATS_INPUT.code not in settled:
        evidence = list(_failures(run, calm, script))
        if not evidence and calm.stable_rows and rules.STATEFUL.code not in settled:
            evidence = [
                item
                for item in _row_differences(run, calm, script)
                if item.rule.code in _TOLD_APART or not settled & _CHANGED
            ]
    if not evidence and rules.SHARED_NAME.code not in settled:
        evidence = list(_file_differences(run, calm, script))
    yield from evidence


def _kill_of(run: RehearsalOutcome, mini_batch: int | None = None) -> Kill:
    """Return the kill that hit a mini-batch, else the first kill."""
    hit = (kill for kill in run.kills if mini_batch is not None and mini_batch in kill.mini_batches)
    return next(hit, run.kills[0])


def _after_text(kill: Kill) -> str:
    at = f" at {kill.places[0].file}:{kill.places[0].line}" if kill.places else ""
    if kill.loss.moment is Moment.TIMEOUT:
        return f"after a worker of node {kill.loss.node + 1} was killed {kill.loss.moment}{at}"
    return f"after node {kill.loss.node + 1} was lost {kill.loss.moment}{at}"


def _failures(run: RehearsalOutcome, calm: CalmScoring, script: Script) -> Iterator[Evidence]:
    """Find attempts that failed here and not in a calm run."""
    calm_failures = {(failure.mini_batch, failure.type) for failure in calm.first.failures}
    for failure in run.failures:
        if (failure.mini_batch, failure.type) in calm_failures:
            continue
        fatal = failure.mini_batch is None or failure.mini_batch in run.failed
        kill = _kill_of(run, failure.mini_batch)
        attempt = "`init`" if failure.mini_batch is None else f"mini-batch {failure.mini_batch}"
        error = failure.type + (f": {run.plain(failure.message)}" if failure.message else "")
        why = f"{attempt} fails {_after_text(kill)}: {error}"
        if failure.type in _LOCKS or failure.errno in _BUSY:
            place = failure.place or script.run()
            yield Evidence(rules.LEFT_LOCK, why, place, kill.loss.number)
        elif fatal:
            halves = kill.loss.moment is Moment.WRITE  # the next attempt failed to read the file
            rule = rules.HALF_WRITTEN if halves else rules.INPUT_LOST
            cut = _first_write(run, failure.mini_batch) if halves else None
            yield Evidence(rule, why, cut or failure.place or script.run(), kill.loss.number)


def _first_write(run: RehearsalOutcome, mini_batch: int | None) -> CodeLine | None:
    """Return where the first attempt of a mini-batch wrote to the output folder."""
    places = (
        write.place
        for write in run.writes
        if write.mini_batch == mini_batch
        and write.operation != "mkdir"
        and run.within(write.path) is not None
    )
    return next(places, None)


def _row_differences(
    run: RehearsalOutcome, calm: CalmScoring, script: Script
) -> Iterator[Evidence]:
    for number in sorted(calm.first.scored):
        expected, rows = calm.first.rows(number), run.rows(number)
        missing, extra = expected - rows, rows - expected
        if not missing and not extra:
            continue
        kill = _kill_of(run, number)
        place = _first_write(run, number) or script.run()
        if missing and not extra:
            why = f"{missing.total()} of {expected.total()} rows of mini-batch {number} are missing"
            rule = rules.INPUT_LOST
        elif not missing and set(extra) <= set(calm.first.all_rows()):
            why = f"mini-batch {number} returns {extra.total()} rows more"
            rule = rules.INPUT_DOUBLED
        elif _first_write(run, number) is not None and kill.loss.moment is Moment.WRITE:
            why, rule = f"mini-batch {number} has other rows", rules.HALF_WRITTEN
        else:
            why = f"mini-batch {number} has other rows"
            rule, place = rules.STATEFUL, script.state()
        yield Evidence(rule, f"{why} {_after_text(kill)}", place, kill.loss.number)


def _file_differences(
    run: RehearsalOutcome, calm: CalmScoring, script: Script
) -> Iterator[Evidence]:
    if calm.first.files.keys() != calm.again.files.keys():  # of two equal runs
        yield from _extra_files(run, calm, script)
        return
    stable = {name for name in calm.first.files if equal_files(calm.first, calm.again, name)}
    for name in sorted(run.files.keys() | calm.first.files.keys()):
        if _is_unfinished(name) or (name in calm.first.files and name not in stable):
            continue
        if equal_files(run, calm.first, name):
            continue
        writes = [write for write in run.writes if run.within(write.path) == name]
        yield _file_difference(name, writes, run, calm, script)


def _file_difference(
    name: str, writes: list[FileWrite], run: RehearsalOutcome, calm: CalmScoring, script: Script
) -> Evidence:
    """Describe how a file differs from the calm run."""
    kill = _kill_of(run, writes[0].mini_batch if writes else None)
    place = writes[0].place if writes else None
    appended = next((write.place for write in writes if write.operation == "append"), None)
    after_kill = _after_text(kill)
    if name not in run.files:
        why, rule = f"`{name}` is missing {after_kill}", rules.INPUT_LOST
        calm_writes = (
            write for write in calm.first.writes if calm.first.within(write.path) == name
        )
        place = place or next((write.place for write in calm_writes), None)
    elif name not in calm.first.files:
        why, rule = f"`{name}` of a lost attempt stays {after_kill}", rules.LEFT_BEHIND
    elif appended is not None:
        have, want = run.files[name], calm.first.files[name]
        surplus = len(have.lines or ()) - len(want.lines or ())
        difference = f"has {surplus} lines too many" if surplus > 0 else "is not as in the calm run"
        why, rule, place = f"`{name}` {difference} {after_kill}", rules.APPENDED_ROWS, appended
    elif run.files[name].size < calm.first.files[name].size:
        part = f"{run.files[name].size} of {calm.first.files[name].size} bytes"
        why, rule = f"`{name}` has {part} {after_kill}", rules.HALF_WRITTEN
    else:
        why, rule = f"`{name}` has other content {after_kill}", rules.STATEFUL
        place = script.state()
    return Evidence(rule, why, place or script.run(), kill.loss.number)


def _extra_files(run: RehearsalOutcome, calm: CalmScoring, script: Script) -> Iterator[Evidence]:
    """Compare only the numbers of files, since their names differ from run to run."""
    have = [name for name in run.files if not _is_unfinished(name)]
    want = [name for name in calm.first.files if not _is_unfinished(name)]
    if len(have) > len(want):
        kill = run.kills[0]
        writes = (
            write.place
            for write in run.writes
            if write.operation != "mkdir" and run.within(write.path)
        )
        why = f"the output folder has {len(have)} files, not {len(want)}, {_after_text(kill)}"
        place = next(writes, None) or script.chance()
        yield Evidence(rules.LEFT_BEHIND, why, place, kill.loss.number)


def _is_unfinished(name: str) -> bool:
    """Whether a name marks the file as unfinished."""
    return name.endswith(_UNFINISHED) or any(part.startswith(".") for part in name.split("/"))

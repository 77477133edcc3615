"""What a run with losses shows, beside the calm one: multisets of rows, and files."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from mlctl.diagnostics import Rule
from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import CodeLine, Evidence
from mlctl.rehearsal.losses import Moment
from mlctl.rehearsal.scoring.judge_calm import CalmScoring, alike
from mlctl.rehearsal.scoring.lines import Script
from mlctl.rehearsal.scoring.outcome import Failure, FileWrite, Kill, RehearsalOutcome, Status

_LOCKS = ("FileExistsError", "BlockingIOError", "Timeout", "Locked", "LockTimeout")
_BUSY = (errno.EEXIST, errno.EADDRINUSE, errno.EWOULDBLOCK, errno.EACCES)
_TOLD_APART = {rules.INPUT_DOUBLED.code, rules.INPUT_LOST.code}
_CHANGED = {rules.STATEFUL.code, rules.INPUT_DOUBLED.code, rules.INPUT_LOST.code}
_UNFINISHED = (".part", ".partial", ".tmp", ".temp", ".lock", ".crdownload", "~")


def judge(
    run: RehearsalOutcome, calm: CalmScoring, script: Script, settled: frozenset[str]
) -> Iterator[Evidence]:
    """What a run with losses shows; `settled` are the codes of what the calm runs showed already.

    A run that was cancelled, since its last node was lost, shows nothing.
    """
    if not run.kills or run.status is Status.CANCELED:
        return
    told = []
    if rules.EATS_INPUT.code not in settled:
        told = list(_failures(run, calm, script))
        if not told and calm.stable_rows and rules.STATEFUL.code not in settled:
            told = [
                one
                for one in _rows(run, calm, script)
                if one.rule.code in _TOLD_APART or not settled & _CHANGED
            ]
    if not told and rules.SHARED_NAME.code not in settled:
        told = list(_files(run, calm, script))
    yield from told


def _by(run: RehearsalOutcome, mini_batch: int | None = None) -> Kill:
    """The kill that hit a mini-batch; the first one where none did."""
    hit = (one for one in run.kills if mini_batch is not None and mini_batch in one.mini_batches)
    return next(hit, run.kills[0])


def _after(kill: Kill) -> str:
    at = f" at {kill.places[0].file}:{kill.places[0].line}" if kill.places else ""
    return f"after node {kill.loss.node + 1} was lost {kill.loss.moment}{at}"


def _failures(run: RehearsalOutcome, calm: CalmScoring, script: Script) -> Iterator[Evidence]:
    """Attempts that failed and did not in a calm run."""
    before = {(one.mini_batch, one.type) for one in calm.first.failures}
    for one in run.failures:
        if (one.mini_batch, one.type) in before:
            continue
        fatal = one.mini_batch is None or one.mini_batch in run.failed
        kill = _by(run, one.mini_batch)
        what = "`init`" if one.mini_batch is None else f"mini-batch {one.mini_batch}"
        error = one.type + (f": {run.plain(one.message)}" if one.message else "")
        why = f"{what} fails {_after(kill)}: {error}"
        if one.type in _LOCKS or one.errno in _BUSY:
            place = one.place or script.run()
            yield Evidence(rules.LEFT_LOCK, why, place, kill.loss.number)
        elif fatal:
            rule, cut = _reason(one, run, kill)
            yield Evidence(rule, why, cut or one.place or script.run(), kill.loss.number)


def _reason(one: Failure, run: RehearsalOutcome, kill: Kill) -> tuple[Rule, CodeLine | None]:
    """Half a file where a write was cut short, and the next attempt could not read it."""
    if kill.loss.moment is Moment.WRITE:
        return rules.HALF_WRITTEN, _written(run, one.mini_batch)
    return rules.INPUT_LOST, None


def _written(run: RehearsalOutcome, mini_batch: int | None) -> CodeLine | None:
    """Where the first attempt of a mini-batch wrote to the output folder."""
    places = (
        one.place
        for one in run.writes
        if one.mini_batch == mini_batch and one.how != "mkdir" and run.within(one.path) is not None
    )
    return next(places, None)


def _rows(run: RehearsalOutcome, calm: CalmScoring, script: Script) -> Iterator[Evidence]:
    for number in sorted(calm.first.scored):
        expected, found = calm.first.rows(number), run.rows(number)
        missing, extra = expected - found, found - expected
        if not missing and not extra:
            continue
        kill = _by(run, number)
        place = _written(run, number) or script.run()
        if missing and not extra:
            why = f"{missing.total()} of {expected.total()} rows of mini-batch {number} are missing"
            rule = rules.INPUT_LOST
        elif not missing and set(extra) <= set(calm.first.all_rows()):
            why = f"mini-batch {number} returns {extra.total()} rows more"
            rule = rules.INPUT_DOUBLED
        elif _written(run, number) is not None and kill.loss.moment is Moment.WRITE:
            why, rule = f"mini-batch {number} has other rows", rules.HALF_WRITTEN
        else:
            why = f"mini-batch {number} has other rows"
            rule, place = rules.STATEFUL, script.state()
        yield Evidence(rule, f"{why} {_after(kill)}", place, kill.loss.number)


def _files(run: RehearsalOutcome, calm: CalmScoring, script: Script) -> Iterator[Evidence]:
    if not calm.stable_names:
        yield from _too_many(run, calm, script)
        return
    stable = calm.stable_files()
    for name in sorted(run.files.keys() | calm.first.files.keys()):
        if _unfinished(name) or (name in calm.first.files and name not in stable):
            continue
        if alike(run, calm.first, name):
            continue
        writes = [one for one in run.writes if run.within(one.path) == name]
        yield _file(name, writes, run, calm, script)


def _file(
    name: str, writes: list[FileWrite], run: RehearsalOutcome, calm: CalmScoring, script: Script
) -> Evidence:
    """What is wrong with a file that is not as in the calm run."""
    kill = _by(run, writes[0].mini_batch if writes else None)
    place = writes[0].place if writes else None
    appended = next((one.place for one in writes if one.how == "append"), None)
    after = _after(kill)
    if name not in run.files:
        why, rule = f"`{name}` is missing {after}", rules.INPUT_LOST
        made = (one for one in calm.first.writes if calm.first.within(one.path) == name)
        place = place or next((one.place for one in made), None)
    elif name not in calm.first.files:
        why, rule = f"`{name}` of a lost attempt stays {after}", rules.LEFT_BEHIND
    elif appended is not None:
        have, want = run.files[name], calm.first.files[name]
        more = len(have.lines or ()) - len(want.lines or ())
        what = f"has {more} lines too many" if more > 0 else "is not as in the calm run"
        why, rule, place = f"`{name}` {what} {after}", rules.APPENDED_ROWS, appended
    elif run.files[name].size < calm.first.files[name].size:
        part = f"{run.files[name].size} of {calm.first.files[name].size} bytes"
        why, rule = f"`{name}` has {part} {after}", rules.HALF_WRITTEN
    else:
        why, rule = f"`{name}` has another content {after}", rules.STATEFUL
        place = script.state()
    return Evidence(rule, why, place or script.run(), kill.loss.number)


def _too_many(run: RehearsalOutcome, calm: CalmScoring, script: Script) -> Iterator[Evidence]:
    """Names differ from run to run: only how many there are can be compared."""
    have = [name for name in run.files if not _unfinished(name)]
    want = [name for name in calm.first.files if not _unfinished(name)]
    if len(have) > len(want):
        kill = run.kills[0]
        writes = (one.place for one in run.writes if one.how != "mkdir" and run.within(one.path))
        why = f"the output folder has {len(have)} files, not {len(want)}, {_after(kill)}"
        place = next(writes, None) or script.chance()
        yield Evidence(rules.LEFT_BEHIND, why, place, kill.loss.number)


def _unfinished(name: str) -> bool:
    """Whether a name says that the file is not to be counted."""
    return name.endswith(_UNFINISHED) or any(one.startswith(".") for one in name.split("/"))

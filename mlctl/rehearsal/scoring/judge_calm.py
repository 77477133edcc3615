"""Judge runs without losses: each by itself, and pairs of runs that should be equal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mlctl.dataclasses import dataclass
from mlctl.rehearsal import rules
from mlctl.rehearsal.evidence import Evidence
from mlctl.rehearsal.inputs import Inputs, MiniBatches
from mlctl.rehearsal.scoring.deployment import Deployment
from mlctl.rehearsal.scoring.lines import Script
from mlctl.rehearsal.scoring.outcome import FileWrite, RehearsalOutcome

_ENOUGH = 6  # mini-batches on one worker, before its memory is judged
_WARM = 2  # of them at the start, which fill caches
_GROWTH = 1 << 20  # bytes for each mini-batch
_MOSTLY = 0.8  # of the mini-batches


@dataclass(frozen=True, slots=True)
class CalmScoring:
    """The runs without losses.

    `again` repeats the run with other hash seeds, traced; `reversed` has one worker and the
    mini-batches in reverse order; `recomposed` has the inputs in other mini-batches.
    """

    first: RehearsalOutcome
    again: RehearsalOutcome
    reversed: RehearsalOutcome
    recomposed: RehearsalOutcome
    inputs: Inputs
    mini_batches: MiniBatches

    @property
    def stable_rows(self) -> bool:
        """Whether two equal runs give the same rows."""
        common = self.first.scored.keys() & self.again.scored.keys()
        return all(self.first.rows(number) == self.again.rows(number) for number in common)


def equal_files(run: RehearsalOutcome, other_run: RehearsalOutcome, name: str) -> bool:
    """Whether two runs have the same file, apart from the order of its lines."""
    if name not in run.files or name not in other_run.files:
        return False
    if run.files[name] == other_run.files[name]:
        return True
    lines = run.lines(name)
    return lines is not None and lines == other_run.lines(name)


def judge(calm: CalmScoring, deployment: Deployment, script: Script) -> Iterator[Evidence]:
    """Yield what the runs without losses show."""
    yield from _failures(calm.first)
    yield from _short_results(calm, script)
    yield from _slow_init(calm.first, deployment, script)
    yield from _writes_outside(calm.first)
    yield from _shared_ports(calm.first, deployment)
    shared = list(_shared_names(calm))
    yield from shared
    yield from _memory_growth(calm.reversed, script)
    if not calm.stable_rows:
        why = "two runs of the same inputs, without any loss, give different rows"
        yield Evidence(rules.CHANCE, why, script.chance())
        return
    if not shared:
        yield from _state_between_batches(calm, script)


def _failures(first: RehearsalOutcome) -> Iterator[Evidence]:
    for failure in first.failures:
        if failure.mini_batch in first.failed:
            rule = rules.SLOW_RUN if failure.type == "Timeout" else rules.FAILING
            error = f"{failure.type}: {failure.message}" if failure.message else failure.type
            reason = (
                "takes longer than its timeout" if rule is rules.SLOW_RUN else f"fails: {error}"
            )
            yield Evidence(rule, f"mini-batch {failure.mini_batch} {reason}", failure.place)
            return


def _short_results(calm: CalmScoring, script: Script) -> Iterator[Evidence]:
    for number, scored in sorted(calm.first.scored.items()):
        names, unit = calm.mini_batches[number], calm.inputs.unit
        traced = calm.again.scored.get(number)
        place = (traced and traced.returned) or script.run()
        if scored.length is None:
            why = f"`run` returns {scored.kind} for a mini-batch of {len(names)} {unit}s"
            yield Evidence(rules.SHORT_RESULT, why.replace("NoneType", "None"), place)
            return
        if scored.length < calm.inputs.elements(names):
            why = f"`run` returns {scored.length} elements for a mini-batch of {len(names)} {unit}s"
            yield Evidence(rules.SHORT_RESULT, why, place)
            return


def _slow_init(
    first: RehearsalOutcome, deployment: Deployment, script: Script
) -> Iterator[Evidence]:
    longest = max(first.init_seconds, default=0.0)
    if longest > deployment.timeout:
        why = f"`init` takes {longest:.0f} s, and a mini-batch may take {deployment.timeout:.0f} s"
        yield Evidence(rules.SLOW_INIT, why, script.init())


def _writes_outside(first: RehearsalOutcome) -> Iterator[Evidence]:
    """Find writes outside the output folder, except to a node's scratch and home folders."""
    for write in first.writes:
        path = Path(write.path)
        if write.place is None or path.is_relative_to(first.output):
            continue
        if path.is_relative_to(first.input):
            if write.operation != "mkdir":
                why = f"`{path.name}` of the input is changed ({write.operation})"
                yield Evidence(rules.EATS_INPUT, why, write.place)
            continue
        target = f"`{write.path}`"
        if path.is_relative_to(first.folder):
            room, *inside = first.plain(write.path).strip("/").split("/")
            if room not in ("code", "model"):
                continue
            folder = "working folder" if room == "code" else "model's folder"
            target = f"the {folder} (`{'/'.join(inside)}`)"
        yield Evidence(
            rules.OUTSIDE, f"this writes to {target}, not the output folder", write.place
        )


def _shared_ports(first: RehearsalOutcome, deployment: Deployment) -> Iterator[Evidence]:
    """Find fixed ports that several workers of a node open."""
    takers: dict[tuple[str, int], set[str]] = {}
    for port in first.ports:
        takers.setdefault((port.worker.partition("/")[0], port.number), set()).add(port.worker)
        if len(takers[port.worker.partition("/")[0], port.number]) > 1:
            why = (
                f"each worker takes port {port.number}, and a node has {deployment.slots} of them:"
                " the second one fails"
            )
            yield Evidence(rules.LEFT_LOCK, why, port.place)
            return


def _shared_names(calm: CalmScoring) -> Iterator[Evidence]:
    """Find names that several mini-batches write, so that the last one wins."""
    writers: dict[str, list[FileWrite]] = {}
    for write in calm.first.writes:
        name = calm.first.within(write.path)
        if name in calm.first.files and write.operation in ("write", "move"):
            writers.setdefault(str(name), []).append(write)
    for name, writes in writers.items():
        different = {write.mini_batch for write in writes if write.mini_batch is not None}
        if len(different) > 1 and not equal_files(calm.first, calm.reversed, name):
            why = f"`{name}` is written by {len(different)} mini-batches; the last one wins"
            yield Evidence(rules.SHARED_NAME, why, writes[0].place)


def _memory_growth(reversed_: RehearsalOutcome, script: Script) -> Iterator[Evidence]:
    for series in reversed_.memory.values():
        if len(series) < _ENOUGH:
            continue
        steps = [
            later - earlier
            for earlier, later in zip(series[_WARM:], series[_WARM + 1 :], strict=False)
        ]
        mean = sum(steps) / len(steps)
        if mean >= _GROWTH and sum(step > 0 for step in steps) >= _MOSTLY * len(steps):
            why = f"a worker grows by {mean / 1e6:.1f} MB with each mini-batch"
            yield Evidence(rules.GROWING, why, script.state())


def _state_between_batches(calm: CalmScoring, script: Script) -> Iterator[Evidence]:
    common = calm.first.scored.keys() & calm.reversed.scored.keys()
    changed = [
        number for number in sorted(common) if calm.first.rows(number) != calm.reversed.rows(number)
    ]
    if changed:
        why = f"mini-batch {changed[0]} has other rows if the mini-batches come in another order"
        yield Evidence(rules.STATEFUL, why, script.state())
        return
    if calm.first.failed:
        return
    if calm.first.all_rows() != calm.recomposed.all_rows() and not calm.recomposed.failures:
        why = "the inputs have other rows if they are grouped into other mini-batches"
        yield Evidence(rules.COMPOSED, why, script.composition())

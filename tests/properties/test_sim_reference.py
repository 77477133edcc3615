"""The event engine against a clock that ticks every second and looks at everything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.simulator.engine.model import SimulationSettings
from mlctl.simulator.engine.processes import LossScript
from tests.builders.histories import (
    batch,
    billed,
    cluster,
    ended,
    mini_batches,
    of,
    world,
)


@dataclass(frozen=True)
class Case:
    """A batch job on one low-priority cluster, with delays and losses in whole seconds."""

    n: int
    seconds: int
    nodes: int
    slots: int
    allocation: int
    preparation: int
    replacement: int
    cancels: bool
    losses: tuple[tuple[int, int], ...]


@dataclass
class Machine:
    """A node of the ticking clock: coming until `due`, up, or lost until `due`."""

    number: int
    state: str
    due: int
    since: int  # in which order it came into this state
    work: list[tuple[int, int, int] | None]  # (begun at, order, mini-batch)


@dataclass
class Ticking:
    """The rules, told once more and as plainly as possible."""

    case: Case
    now: int = 0
    order: int = 0
    done: int = 0
    lost_s: float = 0.0
    billed: int = 0
    preempted: int = 0
    moves: int = 0
    attempts: int = 0
    status: str = "Running"
    queue: list[int] = field(default_factory=list)
    machines: list[Machine] = field(default_factory=list)
    joined: set[int] = field(default_factory=set)

    def run(self) -> Ticking:
        """Tick until the job has ended."""
        case = self.case
        self.queue = list(range(case.n))
        self.machines = [
            Machine(number, "coming", case.allocation, number, [None] * case.slots)
            for number in range(self.wanted())
        ]
        self.moves = len(self.machines)
        self.arrive()
        while self.status == "Running":
            self.billed += sum(one.state in ("preparing", "up") for one in self.machines)
            self.now += 1
            self.complete()
            self.arrive()
            for at, number in case.losses:
                if at == self.now and self.status == "Running":
                    self.lose(number)
                    self.arrive()
        return self

    def wanted(self) -> int:
        left = self.case.n - self.done
        return min(self.case.nodes, -(-left // self.case.slots))

    def complete(self) -> None:
        ending = sorted(
            (work[1], machine.number, slot)
            for machine in self.machines
            for slot, work in enumerate(machine.work)
            if work is not None and work[0] + self.case.seconds == self.now
        )
        for _, number, slot in ending:
            machine = self.machine(number)
            machine.work[slot] = None
            self.done += 1
            if self.done == self.case.n:
                self.status = "Completed"
                return
            self.give(machine)
            self.drop_unwanted()

    def arrive(self) -> None:
        """Who began to wait first arrives first."""
        while self.status == "Running":
            due = [one for one in self.machines if one.state != "up" and one.due <= self.now]
            if not due:
                return
            machine = min(due, key=lambda one: one.since)
            if machine.state == "preparing":
                self.enter(machine, "up", 0)
                self.joined.add(machine.number)
                self.give(machine)
            else:
                self.enter(machine, "preparing", self.case.preparation)

    def enter(self, machine: Machine, state: str, length: int) -> None:
        self.moves += 1
        machine.state, machine.due, machine.since = state, self.now + length, self.moves

    def lose(self, number: int) -> None:
        for machine in self.machines:
            if machine.number == number and machine.state in ("preparing", "up"):
                self.preempted += 1
                self.enter(machine, "lost", self.case.replacement)
                hit = [work for work in machine.work if work is not None]
                self.lost_s += sum(self.now - work[0] for work in hit) / self.case.slots
                self.queue = [work[2] for work in hit] + self.queue
                machine.work = [None] * self.case.slots
                usable = self.joined
                self.joined = usable - {number}
                if number in usable and not self.joined and self.case.cancels:
                    self.status = "Canceled"
                    return
                for other in self.spare_first():
                    self.give(other)
                self.drop_unwanted()

    def spare_first(self) -> Iterator[Machine]:
        """Nodes that work take more before nodes that idle; which of them does not matter."""
        up = [machine for machine in self.machines if machine.state == "up"]
        yield from sorted(up, key=lambda machine: not any(machine.work))

    def give(self, machine: Machine) -> None:
        for slot, work in enumerate(machine.work):
            if work is None and self.queue:
                self.order += 1
                self.attempts += 1
                machine.work[slot] = (self.now, self.order, self.queue.pop(0))

    def drop_unwanted(self) -> None:
        """Lost ones go first, then those still to come; of each, who would be there last."""
        for state in ("lost", "coming"):
            of_state = [machine for machine in self.machines if machine.state == state]
            for machine in sorted(of_state, key=lambda one: one.since, reverse=True):
                if len(self.machines) > self.wanted():
                    self.machines.remove(machine)

    def machine(self, number: int) -> Machine:
        return next(one for one in self.machines if one.number == number)


cases = st.builds(
    Case,
    n=st.integers(1, 24),
    seconds=st.integers(1, 9),
    nodes=st.integers(1, 4),
    slots=st.integers(1, 3),
    allocation=st.integers(0, 5),
    preparation=st.integers(0, 4),
    replacement=st.integers(0, 9),
    cancels=st.booleans(),
    losses=st.lists(
        st.tuples(st.integers(1, 30), st.integers(0, 3)), min_size=1, max_size=9, unique=True
    ).map(lambda losses: tuple(sorted(losses))),
)


@settings(max_examples=500)
@given(cases)
def test_the_engine_does_what_a_ticking_clock_does(case: Case) -> None:
    behaviour = SimulationSettings(
        allocation_s=float(case.allocation),
        preparation_s=float(case.preparation),
        replacement_s=float(case.replacement),
        cancel_when_preempted=case.cancels,
    )
    low = replace(cluster(case.nodes, low=True), idle_s=1e6)
    job = batch(case.n, case.seconds, case.nodes, concurrency=case.slots)
    losses = LossScript(tuple((float(at), number) for at, number in case.losses))
    made = world(*of(low, job, losses), settings=behaviour)
    view, expected = ended(made), Ticking(case).run()
    assert view.status.value == expected.status
    assert view.makespan_s == expected.now
    assert mini_batches(view).completed == expected.done
    assert mini_batches(view).attempts == expected.attempts
    assert view.preempted_nodes == expected.preempted
    assert abs(view.lost_node_s - expected.lost_s) < 1e-9
    assert billed(made) == expected.billed

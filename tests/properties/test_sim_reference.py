"""The event engine against a clock that ticks every second and looks at everything."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.simulator.engine.model import BatchWork, SimulationSettings, SingleNode
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
    """A batch job on one low-priority cluster, with delays and losses in whole seconds.

    `least` are the nodes that the cluster always has, `nodes` those that the job may use at once.
    """

    n: int
    seconds: int
    nodes: int
    slots: int
    least: int
    idle: int
    allocation: int
    preparation: int
    replacement: int
    start: int
    cancels: bool
    single_node: SingleNode
    releases: bool
    losses: tuple[tuple[int, int], ...]


@dataclass
class Machine:
    """A node of the ticking clock: coming until `due`, preparing, up, or lost until `due`."""

    number: int
    state: str
    due: int
    since: int  # in which order it came into this state
    work: list[tuple[int, int, int] | None]  # (begun at, order, mini-batch)
    is_paid: bool = False  # by the job
    idle_since: int | None = None
    entered: bool = False  # by the job's processes
    starts_since: int | None = None  # and they cannot work yet

    @property
    def runs(self) -> bool:
        return self.starts_since is not None or any(work is not None for work in self.work)


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
    started: bool = False
    queue: list[int] = field(default_factory=list)
    machines: list[Machine] = field(default_factory=list)
    joined: set[int] = field(default_factory=set)  # those that the job has

    def run(self) -> Ticking:
        """Tick until the job has ended."""
        case = self.case
        self.queue = list(range(case.n))
        self.machines = [
            Machine(number, "coming", case.allocation, number, [None] * case.slots)
            for number in range(self.wanted())
        ]
        for machine in self.machines[case.least :]:
            machine.is_paid = True
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
            if self.status == "Running":
                self.idle_out()
        return self

    def wanted(self) -> int:
        left = self.case.n - self.done
        seeks = min(self.case.nodes, -(-left // self.case.slots))
        return max(self.case.least, seeks)

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
            self.fill(machine)
            if not machine.runs:
                self.rest(machine)
            self.drop_unwanted()

    def arrive(self) -> None:
        """Who began to wait first arrives first."""
        while self.status == "Running":
            coming = [
                one for one in self.machines if one.state != "up" or one.starts_since is not None
            ]
            due = [one for one in coming if one.due <= self.now]
            if not due:
                return
            machine = min(due, key=lambda one: one.since)
            if machine.starts_since is not None:
                machine.starts_since = None
                self.fill(machine)
                if not machine.runs:
                    self.rest(machine)
                self.assign()
                self.drop_unwanted()
            elif machine.state == "preparing":
                self.rest(machine)
                if machine.is_paid and len(self.joined) < self.case.nodes:
                    self.joined.add(machine.number)
                self.assign()
            else:
                self.enter(machine, "preparing", self.case.preparation)

    def enter(self, machine: Machine, state: str, length: int) -> None:
        self.moves += 1
        machine.state, machine.due, machine.since = state, self.now + length, self.moves

    def rest(self, machine: Machine) -> None:
        """The node is up and has nothing to do, from now on."""
        self.enter(machine, "up", 0)
        machine.idle_since = self.now

    def lose(self, number: int) -> None:
        for machine in self.machines:
            if machine.number == number and machine.state in ("preparing", "up"):
                was_up, had = machine.state == "up", number in self.joined
                self.preempted += machine.is_paid
                self.enter(machine, "lost", self.case.replacement)
                hit = [work for work in machine.work if work is not None]
                self.lost_s += sum(self.now - work[0] for work in hit) / self.case.slots
                self.queue = [work[2] for work in hit] + self.queue
                machine.work = [None] * self.case.slots
                if machine.starts_since is not None:
                    self.lost_s += self.now - machine.starts_since
                machine.entered, machine.starts_since = False, None
                self.joined.discard(number)
                if was_up and self.case.cancels and not self.joined and self.is_alone(had=had):
                    self.status = "Canceled"
                    return
                self.assign()
                self.drop_unwanted()

    def is_alone(self, *, had: bool) -> bool:
        """Whether a job without nodes has no capacity, after a node was lost that it `had`."""
        if self.case.single_node is SingleNode.JOB:
            return had
        return self.started and all(machine.state != "up" for machine in self.machines)

    def assign(self) -> None:
        """Work goes to running nodes first, then to idle ones: the job's own, by number."""
        for machine in self.machines:
            if machine.runs and machine.starts_since is None:
                self.fill(machine)
        idle = [one for one in self.machines if one.state == "up" and not one.runs]
        for machine in sorted(idle, key=lambda one: (one.number not in self.joined, one.number)):
            running = sum(one.runs for one in self.machines)
            may_have = machine.number in self.joined or len(self.joined) < self.case.nodes
            if self.queue and running < self.case.nodes and may_have:
                self.joined.add(machine.number)
                self.started = machine.is_paid = True
                if machine.entered or not self.case.start:
                    machine.entered = True
                    self.fill(machine)
                else:
                    self.enter(machine, "up", self.case.start)
                    machine.entered, machine.starts_since = True, self.now
                    machine.idle_since = None

    def fill(self, machine: Machine) -> None:
        for slot, work in enumerate(machine.work):
            if work is None and self.queue:
                self.order += 1
                self.attempts += 1
                machine.work[slot] = (self.now, self.order, self.queue.pop(0))
                machine.idle_since = None

    def drop_unwanted(self) -> None:
        """Lost ones go first, then those still to come; of each, who would be there last.

        Then idle ones whose time has been over for long.
        """
        for state in ("lost", "coming"):
            of_state = [machine for machine in self.machines if machine.state == state]
            for machine in sorted(of_state, key=lambda one: one.since, reverse=True):
                if len(self.machines) > self.wanted():
                    self.machines.remove(machine)
        excess = len(self.machines) - self.wanted()  # who goes now does not change it
        for machine in self.idle_for(self.case.idle + 1)[:excess] if excess > 0 else ():
            self.give_back(machine)

    def idle_out(self) -> None:
        """A node that has been idle long enough leaves, or is no longer the job's to pay."""
        for machine in self.idle_for(self.case.idle):
            if machine.idle_since == self.now - self.case.idle:
                if len(self.machines) > self.wanted():
                    self.give_back(machine)
                    self.drop_unwanted()
                else:
                    machine.is_paid = False

    def idle_for(self, seconds: int) -> list[Machine]:
        """The nodes that may leave and have been idle for so long, longest first."""
        there = [one for one in self.machines if one.state == "up" and one.idle_since is not None]
        long = [one for one in there if self.now - (one.idle_since or 0) >= seconds]
        free = [one for one in long if self.case.releases or one.number not in self.joined]
        return sorted(free, key=lambda one: one.since)

    def give_back(self, machine: Machine) -> None:
        self.machines.remove(machine)
        self.joined.discard(machine.number)

    def machine(self, number: int) -> Machine:
        return next(one for one in self.machines if one.number == number)


cases = st.builds(
    Case,
    n=st.integers(1, 24),
    seconds=st.integers(1, 9),
    nodes=st.integers(1, 4),
    slots=st.integers(1, 3),
    least=st.sampled_from([0, 0, 1, 3, 5]),
    idle=st.sampled_from([1, 2, 5, 1_000_000]),
    allocation=st.integers(0, 5),
    preparation=st.integers(0, 4),
    replacement=st.integers(0, 9),
    start=st.sampled_from([0, 0, 1, 3, 8]),
    cancels=st.booleans(),
    single_node=st.sampled_from(SingleNode),
    releases=st.booleans(),
    losses=st.lists(
        st.tuples(st.integers(1, 30), st.integers(0, 4)), min_size=1, max_size=9, unique=True
    ).map(lambda losses: tuple(sorted(losses))),
)


@pytest.mark.slow
@settings(max_examples=10 * settings().max_examples)
@given(cases)
def test_the_engine_does_what_a_ticking_clock_does(case: Case) -> None:
    behaviour = SimulationSettings(
        allocation_s=float(case.allocation),
        preparation_s=float(case.preparation),
        replacement_s=float(case.replacement),
        cancel_when_preempted=case.cancels,
        single_node=case.single_node,
        release_idle_nodes=case.releases,
    )
    most = max(case.nodes, case.least)
    low = cluster(most, case.least, low=True, idle_s=float(case.idle))
    work = BatchWork(per_mini_batch_s=case.seconds, per_start_s=case.start)
    job = batch(case.n, case.seconds, case.nodes, concurrency=case.slots, workload=work)
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

"""Edits, foreign writes, plans, saved plans, applies, kills and faults, in any order.

Whatever happened: an apply writes what its plan says and nothing else, what others wrote since is
never overwritten, and an apply that nothing disturbs ends at the declaration. What no file says is
not lost either, wherever an apply is killed: it is there, or a journal has it. On the local backend
here, on Azure's in `test_azure_machine`. `make test-histories HISTORIES=500` tries many, and says
what happened in them.
"""

from __future__ import annotations

import copy
import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from mlctl.applying.events import RetryOptions, Stale, StepState
from mlctl.applying.targets import live_fingerprint
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend
from mlctl.kinds import KINDS
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.kinds.routes import main_child
from mlctl.kinds.values import moving, state
from mlctl.planning.model import Unfinished
from mlctl.planning.unfinished.journal import JournalFile, Journals
from mlctl.service_errors import ServiceError
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import CallFault, FaultKind
from tests.builders import resources
from tests.builders.counts import counted, tell
from tests.builders.disturbed import Killed
from tests.builders.plans import Planned, carried_out, planned
from tests.builders.simulated import finish_operations
from tests.builders.workspace import SCOPE, Watched, cloud, timeless

MANY = int(os.environ.get("MLCTL_TEST_HISTORIES", "12"))
ENDPOINT = Address("batch-endpoint", "heart-batch")
BLUE = Address("batch-deployment", "blue", "heart-batch")
CLUSTER = Address("compute", "cpu-cluster")
SIZES = ("Standard_D4s_v3", "Standard_DS3_v2")
TROUBLES = (FaultKind.FAIL, FaultKind.THROTTLE, FaultKind.DROP)
NOW = datetime(2026, 11, 23, tzinfo=UTC)
Edit = tuple[str, int, int]  # the size of the cluster, its nodes, the tries of a deployment
EDITS = st.tuples(st.sampled_from(SIZES), st.integers(1, 4), st.integers(1, 5))
RETRY = RetryOptions(attempts=3, base=0)


@dataclass(eq=False)
class Mortal(Watched):
    """A backend whose process ends at its nth write: before it is sent, or once it was taken.

    The writes of the journal are among them.
    """

    nth: int = 0
    late: bool = False
    written: list[tuple[str, Address]] = field(default_factory=list)

    def before(self, verb: str, address: Address) -> None:
        super().before(verb, address)
        if len(self.told) == self.nth and not self.late:
            raise Killed
        if verb != "journal":
            self.written.append((verb, address))

    def after(self, verb: str, address: Address) -> None:
        if len(self.told) == self.nth and self.late:
            raise Killed


@dataclass(frozen=True)
class MortalJournal:
    """The journal of a process that ends at its nth write."""

    inner: JournalFile
    backend: Mortal

    def write(self, unfinished: Iterable[Unfinished]) -> None:
        self.backend.before("journal", ENDPOINT)
        self.inner.write(unfinished)
        self.backend.after("journal", ENDPOINT)


class ApplyMachine(RuleBasedStateMachine):
    """One workspace, the files of one project, and others who write there too."""

    def __init__(self) -> None:
        super().__init__()
        self.cloud: LocalBackend = cloud()
        self.backend: Backend = self.connected()
        self.size, self.most = SIZES[0], 2
        self.deployments: dict[str, int] = {"blue": 3}
        self.default: str | None = "blue"
        self.saved: Planned | None = None
        self.foreign: dict[Address, int] = {}  # what others wrote since the plan was saved
        self.described: dict[Address, str] = {}  # what no file describes
        self.chosen: str | None = None  # the default, where no file says one
        self.script, self.region = "score.py", "eastus"
        self.count = 0
        self.folder = tempfile.TemporaryDirectory()
        self.journals = Journals(Path(self.folder.name), "local", SCOPE)

    def teardown(self) -> None:
        self.folder.cleanup()

    def connected(self) -> Backend:
        """What a new process of mlctl plans and applies on."""
        return self.cloud

    def declared(self) -> list[Resource]:
        """What the files declare now."""
        return [
            resources.compute(size=self.size, max_instances=self.most),
            resources.model(),
            resources.environment(),
            resources.endpoint(default=self.default, location=self.region),
            *(
                resources.deployment(
                    name,
                    code_configuration={"code": "azureml:0c0de:1", "scoring_script": self.script},
                    environment="azureml:torch:1",
                    retry_settings={"max_retries": tries, "timeout": 30},
                )
                for name, tries in self.deployments.items()
            ),
        ]

    @initialize()
    def made(self) -> None:
        body = {"properties": {"codeUri": "https://example.org/c", "properties": {}}}
        self.cloud.put(Address("code", "0c0de", None, "1"), body).wait()
        self.apply_undisturbed()

    # Edits of the files.

    @counted(rule, size=st.sampled_from(SIZES), most=st.integers(1, 4))
    def edit_cluster(self, size: str, most: int) -> None:
        self.size, self.most = size, most

    @counted(rule, name=st.sampled_from(["blue", "green"]), tries=st.integers(1, 5))
    def edit_deployment(self, name: str, tries: int) -> None:
        self.deployments[name] = tries

    @counted(rule, default=st.sampled_from([None, "blue", "green"]))
    def edit_default(self, default: str | None) -> None:
        assume(default is None or default in self.deployments)
        self.default = default
        self.chosen = None if default else self.live_default()

    @counted(rule, script=st.sampled_from(["score.py", "other.py"]))
    def edit_the_script(self, script: str) -> None:
        self.script = script  # which replaces the deployments

    @counted(rule, region=st.sampled_from(["eastus", "westus2"]))
    def edit_the_region(self, region: str) -> None:
        self.region = region  # which replaces the endpoint

    # Others, who write to the same workspace.

    @counted(rule, address=st.sampled_from([ENDPOINT, BLUE]))
    def describe(self, address: Address) -> None:
        finish_operations(self.cloud)
        assume(address in self.cloud.read([address]))
        self.describe_now(address)

    def describe_now(self, address: Address) -> None:
        """Write what no file says, where it can be written."""
        live = self.cloud.read([address]).get(address)
        if live is None or state(live.body) == "deleting":
            return
        self.count += 1
        body = copy.deepcopy(dict(live.body))
        body["properties"]["description"] = f"foreign {self.count}"
        with suppress(ServiceError):  # it is busy, or what it refers to is gone
            self.cloud.put(address, body).wait()
            self.described[address] = f"foreign {self.count}"
            self.foreign[address] = self.count

    @precondition(lambda self: self.default is None)
    @counted(rule, name=st.sampled_from(["blue", "green"]))
    def choose_a_default(self, name: str) -> None:
        finish_operations(self.cloud)
        found = self.cloud.read([ENDPOINT, Address(BLUE.kind, name, ENDPOINT.name)])
        assume(len(found) == 2 and main_child(KINDS[ENDPOINT.kind], found[ENDPOINT].body) != name)
        body = copy.deepcopy(dict(found[ENDPOINT].body))
        body["properties"]["defaults"] = {"deploymentName": name}
        self.cloud.put(ENDPOINT, body).wait()
        self.chosen = name
        self.count += 1
        self.foreign[ENDPOINT] = self.count

    @counted(rule, seconds=st.integers(60, 900))
    def change_how_long_nodes_idle(self, seconds: int) -> None:
        finish_operations(self.cloud)
        assume(CLUSTER in self.cloud.read([CLUSTER]))
        self.let_nodes_idle(seconds)

    def let_nodes_idle(self, seconds: int) -> None:
        """Write to the cluster, where there is one, what no file says."""
        live = self.cloud.read([CLUSTER]).get(CLUSTER)
        if live is None:
            return
        body = copy.deepcopy(dict(live.body))
        scale = body["properties"]["properties"]["scaleSettings"]
        now = f"PT{seconds}S"
        scale["nodeIdleTimeBeforeScaleDown"] = now
        with suppress(ServiceError):
            self.cloud.put(CLUSTER, body).wait()
            self.count += 1
            self.foreign[CLUSTER] = self.count

    # Plans and applies.

    def planned_after(self, edit: Edit) -> Planned:
        """The plan of an edit, once nothing runs any more."""
        self.size, self.most, self.deployments["blue"] = edit
        finish_operations(self.cloud)
        return self.planned()

    @counted(rule, edit=EDITS)
    def save_a_plan(self, edit: Edit) -> None:
        self.saved, self.foreign = self.planned_after(edit), {}

    @precondition(lambda self: self.saved is not None)
    @counted(rule)
    def apply_the_saved_plan(self) -> None:
        finish_operations(self.cloud)
        self.apply_saved()

    @counted(rule, edit=EDITS, seconds=st.integers(60, 900))
    def apply_a_plan_that_others_have_made_stale(self, edit: Edit, seconds: int) -> None:
        self.saved, self.foreign = self.planned_after(edit), {}
        self.let_nodes_idle(seconds)
        self.describe_now(BLUE)
        self.apply_saved()

    def apply_saved(self) -> None:
        """Apply the plan that was saved; what others wrote since is not written."""
        assert self.saved is not None
        known, live = self.saved.work.read, self.backend.read([*self.foreign])
        # What was changed, and changed back by another apply, is as the plan has seen it.
        changed = [
            one for one in self.foreign if live_fingerprint(live.get(one), SCOPE) != known.get(one)
        ]
        before = self.bodies(changed)
        _, backend = self.carry_out(self.saved)
        assert self.bodies(changed) == before
        assert not {address for _, address in backend.written} & set(changed)
        self.chosen = None if self.default else self.live_default() or self.chosen

    @counted(rule, edit=EDITS, nth=st.integers(1, 9), late=st.booleans())
    def apply_and_be_killed(self, edit: Edit, nth: int, late: bool) -> None:
        self.carry_out(self.planned_after(edit), nth=nth, late=late)

    @counted(
        rule,
        edit=EDITS,
        kind=st.sampled_from(TROUBLES),
        verb=st.sampled_from(["put", "delete"]),
        at=st.sampled_from([CLUSTER, ENDPOINT]),
        times=st.sampled_from([1, 2, None]),
    )
    def apply_in_trouble(
        self, edit: Edit, kind: FaultKind, verb: str, at: Address, times: int | None
    ) -> None:
        made = self.planned_after(edit)
        fault = CallFault(kind, verb, str(at), times=times, seconds=0.0, status=0)
        control.add_fault(self.cloud.handle, fault)
        try:
            self.carry_out(made)
        finally:
            control.clear_faults(self.cloud.handle)

    @counted(rule)
    def apply_undisturbed(self) -> None:
        for _ in range(3):  # what a kill left unfinished may need another plan
            finish_operations(self.cloud)
            made = self.planned()
            if made.plan.rejections or made.plan.empty:
                break
            events, _ = self.carry_out(made)
            assert [str(one.error) for one in events if one.state is StepState.FAILED] == []
        finish_operations(self.cloud)
        assert self.planned().plan.empty or made.plan.rejections
        if not made.plan.rejections:
            self.journals.settle(self.backend)  # as every apply does at its end
            assert self.live_default() == (self.default or self.chosen or self.live_default())
            assert self.journals.unfinished() == []

    # What is always true.

    @invariant()
    def what_others_wrote_of_what_no_file_says_stays(self) -> None:
        for address, text in self.described.items():
            live = self.cloud.read([address]).get(address)
            if live is not None and not moving(live.body):
                assert live.body["properties"].get("description") == text

    def planned(self) -> Planned:
        """The plan for what is declared, and for what is unfinished."""
        unfinished = self.journals.changes().values()
        return planned(self.backend, *self.declared(), unfinished=unfinished)

    def live_default(self) -> str | None:
        """The default deployment of the endpoint."""
        live = self.cloud.read([ENDPOINT]).get(ENDPOINT)
        return main_child(KINDS[ENDPOINT.kind], live.body) or None if live else None

    def carry_out(
        self, made: Planned, nth: int = 0, *, late: bool = False
    ) -> tuple[list[Any], Mortal]:
        """Apply a plan that is not refused; what is written must be a step of it."""
        backend = Mortal(self.backend, nth=nth, late=late)
        events: list[Any] = []
        if made.plan.rejections:
            return events, backend
        try:
            journal = MortalJournal(self.journals.new(NOW), backend)
            events = carried_out(made.work, backend, parallelism=1, retry=RETRY, journal=journal)
            self.journals.settle(self.backend)
        except Killed:
            tell(self, "killed")
            self.backend = self.connected()
        tell(self, "steps done", sum(one.state is StepState.DONE for one in events))
        tell(self, "steps refused as stale", sum(isinstance(one.error, Stale) for one in events))
        tell(self, "tried again", sum(one.state is StepState.RETRYING for one in events))
        steps = {step.target for step in made.work.steps}
        assert {address for _, address in backend.written} <= steps
        assert self.saved is None or made is self.saved or self.forget(backend)
        return events, backend

    def forget(self, backend: Mortal) -> bool:
        """Count what an apply wrote as foreign to a plan that was saved before it.

        It may have begun what that plan ends: what is unset and set again, deleted and made anew.
        """
        assert self.saved is not None
        times = Counter(step.target for step in self.saved.work.steps)
        written = (address for _, address in backend.written if times[address] < 2)
        self.foreign |= dict.fromkeys(written, 0)
        return True

    def bodies(self, addresses: Any) -> dict[str, Any]:
        """Those that are there, by address."""
        found = self.cloud.read([*addresses])
        return {str(one): timeless(live.body) for one, live in found.items()}


ApplyMachine.TestCase.settings = settings(max_examples=MANY, stateful_step_count=12)
TestApplyMachine = pytest.mark.slow(ApplyMachine.TestCase)

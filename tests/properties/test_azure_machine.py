"""The machine of `test_apply_machine` on Azure's backend, over an emulator in this process.

Time is virtual. Any request may be the last of a process, be answered by a fault, or lose its
answer once it was carried out; and others write between any two. Endpoints have etags.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from mlctl.backends.ports.backend import Backend
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.faults import HttpFault, HttpFaultKind, RetryAfter
from tests.builders.azure import Azure, azure, emulated
from tests.builders.counts import counted, tell
from tests.builders.disturbed import CloudClock, Disturbed
from tests.builders.plans import Planned
from tests.builders.workspace import SCOPE
from tests.properties.test_apply_machine import EDITS, ENDPOINT, ApplyMachine, Edit, Mortal

MANY = int(os.environ.get("MLCTL_TEST_HISTORIES", "4"))

HTTP_TROUBLES = (
    HttpFault(HttpFaultKind.REFUSE, status=503),
    HttpFault(HttpFaultKind.REFUSE, status=429, retry_after=RetryAfter.SECONDS),
    HttpFault(HttpFaultKind.HANG_UP),
    HttpFault(HttpFaultKind.TRUNCATE),  # carried out, and the answer is lost
    HttpFault(HttpFaultKind.TRUNCATE, bytes=40),
)


class AzureMachine(ApplyMachine):
    """The same on the azure backend, over an emulator in this process, in virtual time."""

    service: Disturbed
    asked: Azure

    def connected(self) -> Backend:
        self.service = Disturbed(emulated(self.cloud.handle.store))
        clock = CloudClock(handle=self.cloud.handle)
        self.asked = azure(self.service, SCOPE, clock=clock)
        return self.asked.backend

    @counted(rule, edit=EDITS, nth=st.integers(1, 40), late=st.booleans())
    def apply_and_be_killed_at_a_request(self, edit: Edit, nth: int, late: bool) -> None:
        made = self.planned_after(edit)
        self.service.disturb(nth, late=late)
        self.carry_out(made)
        self.service.disturb(0)

    @counted(
        rule,
        edit=EDITS,
        script=st.sampled_from(["score.py", "other.py"]),
        method=st.sampled_from(["", "PUT"]),
        nth=st.integers(1, 6),
    )
    def apply_while_others_describe_the_endpoint(
        self, edit: Edit, script: str, method: str, nth: int
    ) -> None:
        self.script = script  # another one has the default unset and set again
        made = self.planned_after(edit)
        # A DELETE has no If-Match: what is written between it and the read before is lost.
        assume(not any(step.deletes and step.target == ENDPOINT for step in made.work.steps))
        self.service.disturb(nth, others=lambda: self.describe_now(ENDPOINT), method=method)
        self.carry_out(made)
        self.service.disturb(0)

    @counted(
        rule,
        edit=EDITS,
        fault=st.sampled_from(HTTP_TROUBLES),
        method=st.sampled_from(["GET", "PUT", "DELETE", "*"]),
        nth=st.integers(1, 12),
        times=st.sampled_from([1, 2, 5, None]),
    )
    def apply_over_a_bad_line(
        self, edit: Edit, fault: HttpFault, method: str, nth: int, times: int | None
    ) -> None:
        made = self.planned_after(edit)
        control.add_fault(self.cloud.handle, replace(fault, method=method, nth=nth, times=times))
        try:
            self.carry_out(made)
        finally:
            control.clear_faults(self.cloud.handle)

    def carry_out(
        self, made: Planned, nth: int = 0, *, late: bool = False
    ) -> tuple[list[Any], Mortal]:
        """As on any backend; what is written on the wire must be a step's, too."""
        from mlctl.backends.azure.reads import resource_path  # noqa: PLC0415

        asked = self.asked.transport
        before = len(asked.seen)
        found = super().carry_out(made, nth, late=late)
        said = {resource_path(step.target, SCOPE).casefold() for step in made.work.steps}
        new = [one for one in asked.seen[before:] if one.method != "GET"]
        tell(self, "requests", len(asked.seen) - before)
        assert {one.path.casefold() for one in new} <= said
        return found


AzureMachine.TestCase.settings = settings(max_examples=MANY, stateful_step_count=12)
TestAzureMachine = pytest.mark.slow(
    pytest.mark.skipif(find_spec("azure") is None, reason="the azure extra is not installed")(
        AzureMachine.TestCase
    )
)

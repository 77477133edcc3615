"""An apply that is killed at any write, of the workspace or of its journal, loses nothing."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mlctl import planfile, pointer
from mlctl.backends.ports.backend import Backend
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.kinds.values import moving
from mlctl.planning.model import Unfinished
from mlctl.planning.steps.work import Work
from mlctl.planning.unfinished.journal import JournalFile, Journals
from mlctl.pointer import Data, Pointer
from tests.builders.azure import azure, emulated
from tests.builders.plans import Planned, applied, carried_out, planned
from tests.builders.resources import compute, declared, deployment, endpoint, environment, model
from tests.builders.workspace import SCOPE, Watched, cloud

NOW = datetime(2026, 11, 23, tzinfo=UTC)
HEART = (compute(), model(), endpoint(), deployment())
CPU, ENDPOINT, BLUE = HEART[0].address, HEART[2].address, HEART[3].address
RISK = Address("online-endpoint", "risk")
GREEN = Address("online-deployment", "green", "risk")


def online(name: str, **values: Data) -> Resource:
    """An online deployment, which another type of instance replaces."""
    said = {"model": "azureml:heart:1", "environment": "azureml:torch:1", "instance_count": 1}
    sized = {**said, "instance_type": "Standard_D4as_v4", **values}
    return declared("online-deployment", {**sized, "name": name, "endpoint_name": "risk"})


RISKY = (model(), environment(), declared("online-endpoint", {"name": "risk"}), online("blue"))
CODE = {"properties": {"codeUri": "https://example.org/code"}}
SCRIPT = {"code": "azureml:c0de:1", "scoring_script": "score.py"}
# What others have written, and no file says.
FOREIGN: dict[Address, dict[Pointer, Data]] = {
    CPU: {("tags",): {"team": "ds"}, ("zones",): ["1"]},
    ENDPOINT: {
        ("tags",): {"team": "ds"},
        ("properties", "description"): "of the team",
        ("properties", "defaults"): {"deploymentName": "blue"},
    },
    RISK: {("tags",): {"team": "ds"}, ("properties", "traffic"): {"blue": 90, "green": 10}},
    GREEN: {("tags",): {"team": "ds"}},
    BLUE: {("properties", "description"): "the first", ("sku",): {"name": "Default"}},
}
CHANGES: dict[str, tuple[Resource, ...]] = {
    "a cluster replaced": (compute(size="Standard_D4s_v3"),),
    "a default deployment replaced": (*HEART[:3], deployment(code_configuration=SCRIPT)),
    "its endpoint not declared": (*HEART[:2], deployment(code_configuration=SCRIPT)),
    "an endpoint replaced": (*HEART[:2], endpoint(location="westus2"), HEART[3]),
    "a deployment with a part of the traffic": (
        *RISKY,
        online("green", instance_type="Standard_E4s_v3"),
    ),
}
BEFORE = {
    "a cluster replaced": HEART[:1],
    "a deployment with a part of the traffic": (*RISKY, online("green")),
}


class Killed(BaseException):
    """The process ends here."""


class Mortal(Watched):
    """A backend whose process ends at its nth write, before it or right after it."""

    nth = 0
    late = False

    def before(self, verb: str, address: Address) -> None:
        super().before(verb, address)
        if len(self.told) == self.nth and not self.late:
            raise Killed

    def after(self, verb: str, address: Address) -> None:
        if len(self.told) == self.nth and self.late:
            raise Killed


@dataclass
class MortalJournal:
    """The journal of that process."""

    inner: JournalFile
    backend: Mortal

    def write(self, unfinished: Iterable[Unfinished]) -> None:
        self.backend.before("journal", CPU)
        self.inner.write(unfinished)
        self.backend.after("journal", CPU)


@dataclass
class Project:
    """A workspace in which others have written, and the journals of a project's applies."""

    backend: Backend
    journals: Journals
    wanted: tuple[Resource, ...]

    def settle(self) -> None:
        """Wait for the operations that a killed apply has left."""
        for _ in range(100):
            live = self.backend.read([*FOREIGN])
            if not any(moving(one.body) for one in live.values()):
                return
            self.backend.wait(10)
        raise AssertionError("an operation does not end")

    def plan(self) -> Planned:
        self.settle()
        return planned(self.backend, *self.wanted, unfinished=self.journals.changes().values())

    def apply(self, work: Work, nth: int = 0, *, late: bool = False) -> list[str]:
        """Carry out the work, and be killed at the nth write; what was written."""
        mortal = Mortal(self.backend, name=self.backend.name)
        mortal.nth, mortal.late = nth, late
        journal = MortalJournal(self.journals.new(NOW), mortal)
        try:
            events = carried_out(work, mortal, parallelism=1, journal=journal)
            assert [str(event.error) for event in events if event.error] == []
            self.journals.settle(self.backend)
        except Killed:
            assert nth
        self.settle()
        return mortal.told

    def foreign(self) -> dict[Address, dict[Pointer, Data]]:
        live = self.backend.read([*FOREIGN])
        return {
            address: {at: pointer.get(live[address].body, at) for at in said}
            for address, said in FOREIGN.items()
            if address in live
        }


def project(on: str, change: str, folder: Path) -> Project:
    """The project of a change, in a new workspace."""
    backend: Backend = cloud() if on == "local" else azure(emulated(), SCOPE).backend
    backend.put(Address("code", "c0de", None, "1"), CODE).wait()
    first = BEFORE.get(change, HEART)
    applied(backend, *first)
    for address in FOREIGN.keys() & {one.address for one in first}:
        body: dict[str, Any] = copy.deepcopy(dict(backend.read([address])[address].body))
        for at, value in FOREIGN[address].items():
            pointer.put(body, at, value)
        backend.put(address, body).wait()
    journals = Journals(folder, backend.name, backend.scope)
    return Project(backend, journals, CHANGES[change])


CASES = [
    *(("local", change, again) for change in CHANGES for again in ("plan", "saved plan")),
    pytest.param("azure", "its endpoint not declared", "plan", marks=pytest.mark.slow),
    pytest.param("azure", "an endpoint replaced", "saved plan", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("on", "change", "again"), CASES)
def test_killed_at_any_write_the_next_apply_loses_nothing(
    on: str, change: str, again: str, tmp_path: Path
) -> None:
    undisturbed = project(on, change, tmp_path / "undisturbed")
    writes = undisturbed.apply(undisturbed.plan().work)
    wanted = undisturbed.foreign()
    assert wanted == {address: FOREIGN[address] for address in wanted}
    assert writes[0].startswith("journal")
    for nth in range(1, len(writes) + 1):
        for late in (False, True):
            one = project(on, change, tmp_path / f"{nth}-{late}")
            made = one.plan()
            planfile.save(made.plan, made.work, tmp_path / "plan.json")
            one.apply(made.work, nth, late=late)
            saved = planfile.load(tmp_path / "plan.json").work
            one.apply(saved if again == "saved plan" else one.plan().work)
            assert one.foreign() == wanted, f"killed at write {nth}, {late=}"
            assert one.plan().plan.empty
            assert one.journals.unfinished() == []

"""What others write between plan and apply, in fields that no file can say, is there afterwards."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlctl import planfile, pointer
from mlctl.applying.events import Stale, StepState
from mlctl.applying.targets import stale_targets
from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import Backend, Live
from mlctl.kinds.address import Address
from mlctl.kinds.resource import Resource
from mlctl.planning.steps.work import Work
from mlctl.pointer import Data, Pointer
from mlctl.service_errors import Transient
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.azure import azure, emulated
from tests.builders.plans import Planned, applied, carried_out, planned, writes
from tests.builders.resources import compute, deployment, endpoint, model
from tests.builders.workspace import SCOPE, Watched, cloud

HEART = (compute(), model(), endpoint(default="blue"), deployment())
CPU, ENDPOINT, BLUE = HEART[0].address, HEART[2].address, HEART[3].address
CODE = {"properties": {"codeUri": "https://example.org/code"}}
SCRIPT = {"code": "azureml:c0de:1", "scoring_script": "score.py"}
# Where no file can say anything, in every kind that can be written twice.
FOREIGN: dict[Pointer, Data] = {
    ("sku",): {"name": "Default", "tier": "Standard"},
    ("zones",): ["1", "2"],
    ("kind",): "Foreign",
    ("properties", "propertyBag"): {"a": {"b": 1}},
}


def _local() -> Backend:
    return cloud()


def _azure() -> Backend:
    return azure(emulated(), SCOPE).backend


BACKENDS: dict[str, Callable[[], Backend]] = {"local": _local, "azure": _azure}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """An empty workspace."""
    return BACKENDS[request.param]()


def body_of(backend: Backend, address: Address) -> dict[str, Any]:
    return copy.deepcopy(dict(backend.read([address])[address].body))


def write(backend: Backend, address: Address, values: dict[Pointer, Data]) -> None:
    """Somebody else's write."""
    body = body_of(backend, address)
    for at, value in values.items():
        pointer.put(body, at, value)
    backend.put(address, body).wait()


def found(backend: Backend, address: Address, at: Collection[Pointer]) -> dict[Pointer, Data]:
    body = body_of(backend, address)
    return {one: pointer.get(body, one) for one in at}


def saved(made: Planned) -> Work:
    """The work, out of a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "plan.json")
        planfile.save(made.plan, made.work, path)
        return planfile.load(path).work


def done(work: Work, backend: Backend) -> list[str]:
    """What was written; nothing may go wrong."""
    assert stale_targets(work, backend) == []
    events = carried_out(work, backend)
    assert [str(event.error) for event in events if event.error] == []
    return writes(events)


CHANGES: dict[str, tuple[Address, tuple[Resource, ...]]] = {
    "a cluster changed": (CPU, (compute(max_instances=3), *HEART[1:])),
    "a cluster replaced": (CPU, (compute(size="Standard_D4s_v3"),)),
    "an endpoint changed": (ENDPOINT, (*HEART[:2], endpoint(default="blue", tags={"a": "b"}))),
    "a default set": (
        ENDPOINT,
        (*HEART[:2], endpoint(default="green"), HEART[3], deployment("green")),
    ),
    "a default unset and set again": (
        ENDPOINT,
        (*HEART[:3], deployment(code_configuration=SCRIPT)),
    ),
    "an endpoint replaced": (ENDPOINT, (*HEART[:2], endpoint(location="westus2"), HEART[3])),
    "a deployment changed": (BLUE, (*HEART[:3], deployment(mini_batch_size=7))),
    "a deployment replaced": (BLUE, (*HEART[:3], deployment(code_configuration=SCRIPT))),
    "a deployment replaced with its endpoint": (
        BLUE,
        (*HEART[:2], endpoint(location="westus2", default="blue"), HEART[3]),
    ),
}


@pytest.mark.parametrize("how", [saved, lambda made: made.work], ids=["saved", "at once"])
@pytest.mark.parametrize("change", CHANGES)
def test_foreign_fields_survive_whatever_is_done_to_their_resource(
    backend: Backend, change: str, how: Callable[[Planned], Work]
) -> None:
    address, wanted = CHANGES[change]
    backend.put(Address("code", "c0de", None, "1"), CODE).wait()
    applied(backend, *(HEART[:1] if len(wanted) == 1 else HEART))
    work = how(planned(backend, *wanted))
    write(backend, address, FOREIGN)
    assert done(work, backend)
    assert found(backend, address, FOREIGN) == FOREIGN
    assert planned(backend, *wanted).plan.empty


def test_what_is_removed_meanwhile_does_not_come_back(backend: Backend) -> None:
    applied(backend, compute())
    write(backend, CPU, FOREIGN)
    work = saved(planned(backend, compute(max_instances=3)))
    body = body_of(backend, CPU)
    for at in FOREIGN:
        pointer.drop(body, at)
    backend.put(CPU, body).wait()
    assert done(work, backend) == ["update compute/cpu-cluster"]
    assert set(found(backend, CPU, FOREIGN).values()) == {None}


def test_what_a_plan_compares_still_makes_it_stale(backend: Backend) -> None:
    applied(backend, compute())
    work = saved(planned(backend, compute(max_instances=3)))
    write(backend, CPU, {("tags",): {"team": "heart"}})
    assert stale_targets(work, backend) == [CPU]
    assert isinstance(carried_out(work, backend)[-1].error, Stale)


def test_a_deployment_that_changed_is_not_lost_with_its_endpoint(backend: Backend) -> None:
    applied(backend, *HEART)
    work = planned(backend, *HEART[:2], endpoint(location="westus2"), HEART[3]).work
    write(backend, BLUE, {("properties", "description"): "by hand"})
    events = carried_out(work, backend)
    (failed,) = (event for event in events if event.state is StepState.FAILED)
    assert isinstance(failed.error, Stale)
    assert str(BLUE) in str(failed.error)
    assert body_of(backend, BLUE)["properties"]["description"] == "by hand"


def test_an_endpoint_written_to_after_it_was_made_keeps_that_when_it_gets_its_default(
    backend: Backend,
) -> None:
    class Busy(Watched):
        def before(self, verb: str, address: Address) -> None:
            if address == BLUE:
                write(self.inner, ENDPOINT, FOREIGN)

    work = planned(backend, *HEART).work
    assert len(writes(carried_out(work, Busy(backend)))) == 5
    assert found(backend, ENDPOINT, FOREIGN) == FOREIGN


def test_a_write_that_has_to_be_repeated_is_laid_over_what_is_there_then(
    backend: Backend,
) -> None:
    class Throttled(Watched):
        def before(self, verb: str, address: Address) -> None:
            self.told.append(verb)
            if len(self.told) == 1:
                write(self.inner, CPU, FOREIGN)
                raise Transient("TooManyRequests", "later", status=429, retry_after=1)

    applied(backend, compute())
    work = planned(backend, compute(max_instances=3)).work
    watched = Throttled(backend)
    assert writes(carried_out(work, watched)) == ["update compute/cpu-cluster"]
    assert found(backend, CPU, FOREIGN) == FOREIGN


def test_settings_that_are_not_there_are_not_made_an_empty_object() -> None:
    """The emulator shows an empty object where there are none, as the SDK needs one."""
    store = Store(":memory:")
    backend, behind = azure(emulated(store), SCOPE).backend, LocalBackend(store, SCOPE)
    applied(backend, *HEART[:2], endpoint())
    component = Address("component", "words", None, "1")
    backend.put(component, {"properties": {"componentSpec": {"type": "pipeline"}}}).wait()
    body = {
        "properties": {
            "deploymentConfiguration": {
                "deploymentConfigurationType": "PipelineComponent",
                "componentId": {"assetId": component.id(SCOPE), "referenceType": "Id"},
                "settings": None,
            }
        }
    }
    backend.put(BLUE, body).wait()
    wanted = deployment(
        type="pipeline", component="azureml:words:1", description="new", model=None, compute=None
    )
    assert "settings" not in body_of(behind, BLUE)["properties"]["deploymentConfiguration"]
    assert done(saved(planned(backend, *HEART[:2], endpoint(), wanted)), backend)
    assert "settings" not in body_of(behind, BLUE)["properties"]["deploymentConfiguration"]


names = st.from_regex(r"x[A-Za-z0-9]{1,8}", fullmatch=True)
leaves = st.booleans() | st.integers(-5, 5) | st.text("abc é'", max_size=4)
data = st.recursive(
    leaves, lambda inner: st.dictionaries(names, inner, min_size=1, max_size=2), max_leaves=4
)
tops = st.sampled_from(["sku", "zones", "kind", "plan", "extendedLocation"]) | names
foreign = st.dictionaries(
    st.one_of(
        tops.map(lambda name: (name,)),
        names.map(lambda name: ("properties", name)),
        st.just(("properties", "propertyBag")),
    ),
    data,
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@pytest.mark.parametrize("where", BACKENDS)
@settings(suppress_health_check=[HealthCheck.differing_executors], deadline=None, max_examples=25)
@given(foreign, st.sampled_from(sorted(CHANGES)), st.booleans())
def test_any_foreign_write_between_plan_and_apply_is_there_afterwards(
    where: str, values: dict[Pointer, Data], change: str, keep: bool
) -> None:
    backend, (address, wanted) = BACKENDS[where](), CHANGES[change]
    backend.put(Address("code", "c0de", None, "1"), CODE).wait()
    applied(backend, *(HEART[:1] if len(wanted) == 1 else HEART))
    made = planned(backend, *wanted)
    work = saved(made) if keep else made.work
    write(backend, address, values)
    before: Live = backend.read([address])[address]
    assert done(work, backend)
    assert found(backend, address, values) == {at: pointer.get(before.body, at) for at in values}


def test_what_another_made_in_the_same_moment_is_claimed_by_one(backend: Backend) -> None:
    class Beaten(Watched):
        def before(self, verb: str, address: Address) -> None:
            if not self.told:
                self.told.append("once")
                applied(self.inner, *HEART)

    work = planned(backend, *HEART).work
    assert writes(carried_out(work, Beaten(backend), parallelism=1)) == []

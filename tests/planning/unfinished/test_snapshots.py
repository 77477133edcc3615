"""What an apply writes into its journal, and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from mlctl.applying.events import StepState
from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address
from mlctl.planning.model import Unfinished
from mlctl.planning.steps.bodies import Restoration
from mlctl.planning.unfinished.snapshots import unfinished_until
from mlctl.service_errors import Permanent
from tests.builders.plans import applied, carried_out, planned, succeeded
from tests.builders.resources import compute, deployment, endpoint, environment, model
from tests.builders.workspace import Watched, bodies, cloud

CPU, ENDPOINT, BLUE = compute().address, endpoint().address, deployment().address
SPOT = compute(tier="low_priority")


@dataclass
class Told:
    """A journal that tells what it is given, among the writes of a backend."""

    backend: Watched
    unfinished: dict[Address, Unfinished] = field(default_factory=dict)

    def write(self, unfinished: Iterable[Unfinished]) -> None:
        self.unfinished |= {one.address: one for one in unfinished}
        self.backend.told.append("journal")


@dataclass
class Full:
    """A journal on a disk that is full."""

    def write(self, unfinished: Iterable[Unfinished]) -> None:
        raise Permanent("JournalNotKept", f"no room for {len(list(unfinished))}")


def edited(backend: LocalBackend, address: Address, **properties: Any) -> None:
    """Let others write properties, or tags, of a resource."""
    body = dict(backend.read([address])[address].body)
    tags = properties.pop("tags", None)
    body["properties"] = {**body["properties"], **properties}
    backend.put(address, {**body, **({"tags": tags} if tags else {})}).wait()


def zoned(backend: LocalBackend) -> None:
    """Let others write what no file can say of the cluster."""
    backend.put(CPU, {**backend.read([CPU])[CPU].body, "zones": ["1", "2"]}).wait()


def told(backend: LocalBackend, *wanted: Any) -> Told:
    """The journal of an apply of what is wanted."""
    watched = Watched(backend)
    journal = Told(watched)
    carried_out(planned(backend, *wanted).work, watched, parallelism=1, journal=journal)
    return journal


def scoring(*, default: str | None = None, image: str = "ubuntu:22.04") -> list[Any]:
    """An endpoint with a deployment that is replaced where its script is another."""
    script = {"code": "azureml:0c0de:1", "scoring_script": f"{image[-5:]}.py"}
    more: dict[str, Any] = {"code_configuration": script, "environment": "azureml:torch:1"}
    return [compute(), model(), environment(), endpoint(default=default), deployment(**more)]


def made(*, default: str | None = None) -> LocalBackend:
    """A workspace with that endpoint, whose default is its deployment."""
    backend = cloud()
    code = {"properties": {"codeUri": "https://example.org/c", "properties": {}}}
    backend.put(Address("code", "0c0de", None, "1"), code).wait()
    applied(backend, *scoring(default=default))
    edited(backend, ENDPOINT, defaults={"deploymentName": "blue"})
    return backend


def test_what_no_file_says_of_a_replaced_cluster_is_told_before_it_is_deleted() -> None:
    backend = cloud()
    applied(backend, compute())
    edited(backend, CPU, tags={"team": "ds"})
    journal = told(backend, SPOT)
    assert journal.backend.told == ["journal", f"delete {CPU}", f"put {CPU}"]
    unfinished = journal.unfinished[CPU]
    assert (unfinished.deleted, unfinished.secrets) == (True, ())
    assert unfinished.body["tags"] == {"team": "ds"}


def test_of_what_files_say_nothing_is_told() -> None:
    backend = cloud()
    applied(backend, compute(description="mine", tags={"a": "b"}))
    journal = told(backend, compute(tier="low_priority", description="mine", tags={"a": "b"}))
    text = str(journal.unfinished[CPU].body)
    assert "mine" not in text
    assert "'a'" not in text
    assert "vmPriority" not in text


def test_a_default_that_no_file_says_is_told_before_it_is_unset() -> None:
    journal = told(made(), *scoring(image="ubuntu:24.04"))
    assert journal.backend.told[0] == "journal"
    assert journal.backend.told[1] == f"put {ENDPOINT}"
    unfinished = journal.unfinished[ENDPOINT]
    assert (unfinished.deleted, unfinished.children) == (False, frozenset({BLUE}))
    assert unfinished.body == {"properties": {"defaults": {"deploymentName": "blue"}}}


def test_a_default_that_a_file_says_is_not_told() -> None:
    backend = made(default="blue")
    journal = told(backend, *scoring(default="blue", image="ubuntu:24.04"))
    assert ENDPOINT not in journal.unfinished
    assert BLUE in journal.unfinished


def test_deployments_that_go_with_their_endpoint_are_told_before_it_is_deleted() -> None:
    backend = made()
    edited(backend, BLUE, description="foreign")
    wanted = [one for one in scoring() if one.address != ENDPOINT]
    journal = told(backend, *wanted, endpoint(location="westus2"))
    assert journal.unfinished[BLUE].body["properties"]["description"] == "foreign"
    assert journal.unfinished[ENDPOINT].children == {BLUE}
    assert journal.backend.told.index("journal") < journal.backend.told.index(f"delete {ENDPOINT}")


def test_an_apply_that_takes_nothing_away_tells_nothing() -> None:
    backend = cloud()
    assert told(backend, compute(), endpoint()).unfinished == {}
    assert told(backend, compute(max_instances=3), endpoint(description="d")).unfinished == {}


def test_what_looks_like_a_secret_is_not_told_but_named() -> None:
    backend = cloud()
    applied(backend, compute())
    edited(backend, CPU, tags={"team": "ds", "API_KEY": "abcdefgh12345678"})
    unfinished = told(backend, SPOT).unfinished[CPU]
    assert (unfinished.body["tags"], unfinished.secrets) == ({"team": "ds"}, ("tags.API_KEY",))


def test_what_changed_in_no_field_of_a_file_since_the_plan_is_told_too() -> None:
    backend = cloud()
    applied(backend, compute())
    made = planned(backend, SPOT)
    zoned(backend)
    watched = Watched(backend)
    journal = Told(watched)
    carried_out(made.work, watched, journal=journal)
    assert journal.unfinished[CPU].body["zones"] == ["1", "2"]
    assert watched.told.count("journal") == 2


def test_without_a_journal_that_can_be_written_nothing_is_begun() -> None:
    backend = made()
    before = bodies(backend)
    with pytest.raises(Permanent, match="no room"):
        carried_out(planned(backend, *scoring(image="ubuntu:24.04")).work, backend, journal=Full())
    assert bodies(backend) == before


def test_a_journal_that_cannot_be_written_is_no_matter_where_nothing_is_owed() -> None:
    backend = cloud()
    events = carried_out(planned(backend, compute()).work, backend, journal=Full())
    assert events[-1].state is StepState.DONE


def test_a_disk_that_is_full_later_fails_the_step_before_it_takes_something_away() -> None:
    @dataclass
    class Filling(Full):
        left: int = 1

        def write(self, unfinished: Iterable[Unfinished]) -> None:
            self.left -= 1
            if self.left < 0:
                super().write(unfinished)

    backend = cloud()
    applied(backend, compute())
    work = planned(backend, SPOT).work
    zoned(backend)
    events = carried_out(work, backend, journal=Filling())
    states = [one.state for one in events]
    assert states == [StepState.STARTED, StepState.FAILED, StepState.SKIPPED]
    assert str(CPU) in bodies(backend)


def test_a_plan_that_was_carried_out_before_unsets_no_default_again() -> None:
    backend = made()
    work = planned(backend, *scoring(image="ubuntu:24.04")).work
    succeeded(work, backend)
    watched = Watched(backend)
    succeeded(work, watched)
    assert watched.told == []


def test_nor_does_it_delete_what_goes_with_an_endpoint_that_was_made_anew() -> None:
    backend = made()
    wanted = [one for one in scoring() if one.address != ENDPOINT]
    work = planned(backend, *wanted, endpoint(location="westus2")).work
    succeeded(work, backend)
    watched = Watched(backend)
    succeeded(work, watched)
    assert watched.told == []


def test_empty_objects_and_lists_are_nothing_to_restore() -> None:
    (step,) = planned(cloud(), compute()).work.steps
    last = replace(step, body={}, without=(), restoration=Restoration(base={}))
    previous = {"tags": {}, "zones": [], "properties": {"properties": {"errors": []}}}
    assert unfinished_until({}, last, previous) is None
    tagged = unfinished_until({}, last, {**previous, "tags": {"team": "ds", "note": None}})
    assert tagged is not None
    assert tagged.body == {"tags": {"team": "ds"}}

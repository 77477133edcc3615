"""What an apply that did not end has taken away is put back by the next plan."""

from __future__ import annotations

from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address
from mlctl.planning.live_state import LiveState
from mlctl.planning.model import Unfinished
from mlctl.planning.ownership.owner import Ownership
from mlctl.planning.unfinished.restore import NOTE
from mlctl.pointer import Data
from mlctl.render.plan import blocks as render
from mlctl.render.plan import unfinished as sentences
from tests.builders.plans import Planned, actions, applied, fields, planned, succeeded
from tests.builders.resources import compute, deployment, endpoint, environment, model
from tests.builders.workspace import cloud

CPU, ENDPOINT, BLUE = compute().address, endpoint().address, deployment().address
SINCE, FILE = "2026-11-23T05:50:11Z", ".mlctl/journal/1.json"


def tags(address: Address = CPU, **body: Data) -> Unfinished:
    said = body or {"tags": {"team": "ds"}}
    return Unfinished(address, said, since=SINCE, file=FILE)


def default(name: str = "blue", *, deleted: bool = False) -> Unfinished:
    body = {"properties": {"defaults": {"deploymentName": name}}}
    return Unfinished(ENDPOINT, body, deleted, {}, since=SINCE, file=FILE)


def scoring(wanted: str | None = None) -> list[Any]:
    script = {"code": "azureml:0c0de:1", "scoring_script": "score.py"}
    blue = deployment(code_configuration=script, environment="azureml:torch:1")
    return [compute(), model(), environment(), endpoint(default=wanted), blue]


def workspace(*resources: Any) -> LocalBackend:
    backend = cloud()
    code = {"properties": {"codeUri": "https://example.org/c", "properties": {}}}
    backend.put(Address("code", "0c0de", None, "1"), code).wait()
    applied(backend, *resources)
    return backend


def live(backend: LocalBackend, address: Address) -> Any:
    return backend.read([address])[address].body


def notes(made: Planned, backend: LocalBackend, *unfinished: Unfinished) -> list[str]:
    """What is said of what a plan does not put back."""
    found = backend.read([one.address for one in unfinished])
    left = {
        one.address: still for one in unfinished if (still := one.remaining(found.get(one.address)))
    }
    return list(
        sentences.notes(unfinished, LiveState(backend.scope, "", found, unfinished=left), made.plan)
    )


def test_what_is_made_anew_gets_the_tags_that_it_had() -> None:
    backend = cloud()
    made = planned(backend, compute(), unfinished=[tags()])
    assert "tags" in fields(made.plan)[str(CPU)]
    succeeded(made.work, backend)
    assert live(backend, CPU)["tags"] == {"team": "ds"}
    assert planned(backend, compute(), unfinished=[tags()]).plan.empty


def test_what_a_file_says_by_now_is_what_counts() -> None:
    backend = cloud()
    made = planned(backend, compute(tags={"team": "ops"}), unfinished=[tags()])
    succeeded(made.work, backend)
    assert live(backend, CPU)["tags"] == {"team": "ops"}


def test_the_tags_of_mlctl_are_kept_beside_those_of_a_file() -> None:
    backend = cloud()
    had = tags(tags={"team": "ds", "mlctl.protect": "false"})
    succeeded(planned(backend, compute(tags={"team": "ops"}), unfinished=[had]).work, backend)
    assert live(backend, CPU)["tags"] == {"team": "ops", "mlctl.protect": "false"}


def test_a_project_tags_what_it_makes_anew_beside_what_is_put_back() -> None:
    backend = cloud()
    made = planned(backend, compute(), unfinished=[tags()], ownership=Ownership("scoring"))
    succeeded(made.work, backend)
    assert [one.note for one in made.plan.pending[0].fields if one.at == ("tags",)] == [NOTE]
    found = live(backend, CPU)["tags"]
    assert (found["team"], found["mlctl.project"]) == ("ds", "scoring")


def test_the_tags_of_a_project_alone_are_nothing_that_is_put_back() -> None:
    unfinished = tags(tags={"mlctl.project": "scoring", "mlctl.spec-hash": "1"})
    made = planned(cloud(), compute(), unfinished=[unfinished], ownership=Ownership("scoring"))
    assert [one.note for one in made.plan.pending[0].fields if one.note] == []


def test_what_no_file_can_say_is_put_back_too() -> None:
    backend = cloud()
    succeeded(planned(backend, compute(), unfinished=[tags(zones=["1"])]).work, backend)
    assert live(backend, CPU)["zones"] == ["1"]


def test_the_plan_says_what_it_puts_back_and_from_where() -> None:
    text = render.human(planned(cloud(), compute(), unfinished=[tags()]).plan, width=200)
    assert "# from an unfinished apply" in text
    assert f"the unfinished apply of {SINCE}" in text
    assert FILE in text


@pytest.mark.parametrize("wanted", [scoring(), [scoring()[-1]]], ids=["declared", "not declared"])
def test_a_default_is_put_back_whether_its_endpoint_is_declared_or_not(wanted: Any) -> None:
    backend = workspace(*scoring())
    made = planned(backend, *wanted, unfinished=[default()])
    assert fields(made.plan) == {str(ENDPOINT): ["defaults.deployment_name"]}
    succeeded(made.work, backend)
    assert live(backend, ENDPOINT)["properties"]["defaults"] == {"deploymentName": "blue"}
    assert planned(backend, *wanted, unfinished=[default()]).plan.empty


def test_a_default_is_put_back_by_an_apply_of_anything_but_not_by_one_of_a_target() -> None:
    backend = workspace(*scoring())
    assert actions(planned(backend, compute(), unfinished=[default()]).plan) == {
        str(ENDPOINT): "update"
    }
    made = planned(backend, *scoring(), unfinished=[default()], targets=[CPU])
    assert made.plan.empty
    assert "removed the default deployment of" in notes(made, backend, default())[0]


def test_a_default_is_set_once_its_deployment_is_there_again() -> None:
    backend = workspace(*scoring()[:-1])
    made = planned(backend, *scoring(), unfinished=[default()])
    told = succeeded(made.work, backend)
    assert [str(one.step.target) for one in told if one.wrote] == [str(BLUE), str(ENDPOINT)]
    assert live(backend, ENDPOINT)["properties"]["defaults"] == {"deploymentName": "blue"}


def test_a_default_whose_deployment_nobody_makes_stays_owed_and_that_is_said() -> None:
    backend = workspace(*scoring()[:-1])
    made = planned(backend, *scoring()[:-1], unfinished=[default()])
    assert made.plan.empty
    (note,) = notes(made, backend, default())
    assert "does not restore it: it goes to blue" in note
    assert FILE in note


def test_an_endpoint_that_is_made_anew_gets_its_default_back() -> None:
    backend = workspace(*scoring()[:3])
    succeeded(planned(backend, *scoring(), unfinished=[default(deleted=True)]).work, backend)
    assert live(backend, ENDPOINT)["properties"]["defaults"] == {"deploymentName": "blue"}


def test_a_default_that_a_file_says_by_now_is_what_counts() -> None:
    backend = workspace(*scoring())
    made = planned(backend, *scoring("blue"), unfinished=[default("green")])
    succeeded(made.work, backend)
    assert live(backend, ENDPOINT)["properties"]["defaults"] == {"deploymentName": "blue"}
    assert notes(made, backend, default("green")) == [
        f"note: the unfinished apply of {SINCE} removed the default"
        f" deployment of {ENDPOINT}; it has been written since, and"
        " these fields stay as they are: defaults.deployment_name"
    ]


def test_a_default_that_others_set_since_stays_and_that_is_said() -> None:
    backend = workspace(*scoring("blue"))
    made = planned(backend, *scoring(), unfinished=[default("green")])
    assert made.plan.empty
    [note] = notes(made, backend, default("green"))
    assert "these fields stay as they are: defaults.deployment_name" in note


def test_what_others_made_anew_stays_as_they_made_it_and_that_is_said() -> None:
    backend = workspace(compute(tags={"team": "ops"}))
    made = planned(backend, compute(), unfinished=[tags()])
    assert made.plan.empty
    assert notes(made, backend, tags()) == [
        f"note: the unfinished apply of {SINCE} deleted {CPU}; it has been written since,"
        " and these fields stay as they are: tags.team"
    ]


def test_nothing_is_said_of_what_is_back_as_it_was() -> None:
    backend = workspace(compute(tags={"team": "ds", "more": "1"}))
    assert notes(planned(backend, compute(), unfinished=[tags()]), backend, tags()) == []


def test_what_no_file_makes_anew_stays_owed_and_that_is_said() -> None:
    backend = cloud()
    made = planned(backend, endpoint(), unfinished=[tags()])
    (note,) = notes(made, backend, tags())
    assert f"deleted {CPU} and did not create it again, and this plan does not either" in note


def test_a_secret_that_was_not_kept_is_named() -> None:
    unfinished = Unfinished(CPU, {}, secrets=("tags.API_KEY",), since=SINCE, file=FILE)
    made = planned(cloud(), compute(), unfinished=[unfinished])
    assert (
        "`tags.API_KEY` of compute/cpu-cluster looked like a secret"
        in notes(made, cloud(), unfinished)[-1]
    )

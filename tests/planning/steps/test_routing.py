"""Where the requests of an online endpoint go while a plan is carried out."""

from __future__ import annotations

import pytest

from mlctl import pointer
from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address
from mlctl.kinds.facts import Effective
from mlctl.kinds.records.online_deployment import KIND as ONLINE_DEPLOYMENT
from mlctl.kinds.resource import Resource
from mlctl.planning import cost
from mlctl.planning.blue_green.renaming import to_rename
from mlctl.planning.blue_green.successors import CannotRename
from mlctl.planning.model import Action
from mlctl.planning.ownership.owner import NOBODY, Ownership, Prune
from mlctl.planning.steps.work import PlanStep, StepRole
from mlctl.pointer import Data
from mlctl.render.plan import blocks as render
from tests.builders.plans import Planned, actions, applied, planned, succeeded
from tests.builders.resources import declared, environment, model
from tests.builders.workspace import cloud

OURS = Ownership("ours")
RISK = Address("online-endpoint", "risk")


def endpoint(traffic: dict[str, int] | None = None, **values: Data) -> Resource:
    said = {} if traffic is None else {"traffic": traffic}
    return declared("online-endpoint", {"name": "risk", **said, **values})


def deployment(name: str, **values: Data) -> Resource:
    said = {"model": "azureml:heart:1", "environment": "azureml:torch:1", "instance_count": 1}
    sized = {**said, "instance_type": "Standard_D4as_v4", **values}
    return declared("online-deployment", {**sized, "name": name, "endpoint_name": "risk"})


ASSETS = (model(), environment())
BLUE, GREEN = deployment("blue"), deployment("green")


def there(*resources: Resource, ownership: Ownership = NOBODY) -> LocalBackend:
    backend = cloud()
    applied(backend, *ASSETS, *resources, ownership=ownership)
    return backend


def moving(before: tuple[Resource, ...], *after: Resource, prune: bool = False) -> Planned:
    owner = OURS if prune else NOBODY
    backend = there(*before, ownership=owner)
    pruned = Prune() if prune else None
    return planned(backend, *ASSETS, *after, ownership=owner, prune=pruned)


def traffic(step: PlanStep) -> Data:
    return pointer.get(step.body, ("properties", "traffic"))


def told(made: Planned) -> list[str]:
    """What every step does, with the traffic that it sets."""
    found = []
    for step in made.work.steps:
        said = f"{step.role.value} {step.target.name}"
        found.append(said if step.target.up or not step.body else f"{said} {traffic(step)}")
    return found


def test_an_endpoint_is_made_without_traffic_and_gets_it_when_all_are_there() -> None:
    made = planned(cloud(), *ASSETS, endpoint({"blue": 90, "green": 10}), BLUE, GREEN)
    steps = told(made)
    assert "create risk {}" in steps
    assert steps[-1] == "set-default risk {'blue': 90, 'green': 10}"
    last = made.work.steps[-1]
    assert {made.work.steps[one].target.name for one in last.needs} == {"risk", "blue", "green"}


def test_traffic_between_deployments_that_are_there_is_one_write() -> None:
    before = (endpoint({"blue": 100}), BLUE, GREEN)
    made = moving(before, endpoint({"blue": 50, "green": 50}), BLUE, GREEN)
    assert told(made) == ["update risk {'blue': 50, 'green': 50}"]


def test_a_deployment_that_is_updated_and_keeps_its_share_is_not_waited_for() -> None:
    shares = {"blue": 50, "green": 50}
    made = moving(
        (endpoint(shares), BLUE, GREEN),
        endpoint(shares),
        deployment("blue", instance_count=2),
        GREEN,
    )
    assert told(made) == ["update blue"]


def test_a_deployment_that_is_updated_gets_its_larger_share_afterwards() -> None:
    before = (endpoint({"blue": 50, "green": 50}), BLUE, GREEN)
    made = moving(
        before, endpoint({"blue": 51, "green": 49}), deployment("blue", instance_count=2), GREEN
    )
    assert told(made) == ["update blue", "set-default risk {'blue': 51, 'green': 49}"]


def test_silence_about_traffic_leaves_it_as_it_is() -> None:
    before = (endpoint({"blue": 100}), BLUE, GREEN)
    assert moving(before, endpoint(), BLUE, GREEN).plan.empty
    made = moving(before, endpoint(description="new"), BLUE, GREEN)
    assert told(made) == ["update risk {'blue': 100}"]


def test_an_empty_traffic_takes_all_off() -> None:
    made = moving((endpoint({"blue": 100}), BLUE), endpoint({}), BLUE)
    assert told(made) == ["unset-default risk {}"]


def test_shares_of_nothing_are_no_change() -> None:
    before = (endpoint({"blue": 100}), BLUE, GREEN)
    assert moving(before, endpoint({"Blue": 100, "green": 0}), BLUE, GREEN).plan.empty


def test_the_old_deployment_answers_until_the_new_one_does_and_is_then_deleted() -> None:
    made = moving((endpoint({"blue": 100}), BLUE), endpoint({"green": 100}), GREEN, prune=True)
    assert told(made) == [
        "update risk {'blue': 100}",  # the tags of the project
        "create green",
        "set-default risk {'green': 100}",
        "delete blue",
    ]


def test_a_deployment_that_changes_gets_more_requests_only_afterwards() -> None:
    before = (endpoint({"blue": 100}), BLUE, GREEN)
    after = (endpoint({"blue": 90, "green": 10}), BLUE, deployment("green", instance_count=2))
    assert told(moving(before, *after)) == [
        "update green",
        "set-default risk {'blue': 90, 'green': 10}",
    ]


def test_the_others_answer_for_a_deployment_that_is_made_anew() -> None:
    split = endpoint({"blue": 90, "green": 10})
    bigger = deployment("blue", instance_type="Standard_E4s_v3")
    made = moving((split, BLUE, GREEN), split, bigger, GREEN)
    assert told(made) == [
        "update risk {'green': 100}",
        "delete blue",
        "create blue",
        "set-default risk {'blue': 90, 'green': 10}",
    ]


def test_a_deployment_that_gives_its_requests_to_a_new_one_is_made_anew_afterwards() -> None:
    bigger = deployment("blue", instance_type="Standard_E4s_v3")
    made = moving((endpoint({"blue": 100}), BLUE), endpoint({"green": 100}), bigger, GREEN)
    assert told(made) == [
        "create green",
        "set-default risk {'green': 100}",
        "delete blue",
        "create blue",
    ]
    assert "until it exists again" not in render.human(made.plan)


def test_a_plan_says_who_answers_while_a_deployment_is_made_anew() -> None:
    split = endpoint({"blue": 90, "green": 10})
    bigger = deployment("blue", instance_type="Standard_E4s_v3")
    shown = render.human(moving((split, BLUE, GREEN), split, bigger, GREEN).plan)
    said = "others get its 90 % of the traffic until it exists again: green has 100 %"
    assert f"# ({said})" in shown
    alone = endpoint({"blue": 100})
    shown = render.human(moving((alone, BLUE), alone, bigger).plan)
    assert "# (online-endpoint/risk has no traffic until it exists again)" in shown
    copied = endpoint({"blue": 100}, mirror_traffic={"green": 20})
    other = deployment("green", instance_type="Standard_E4s_v3")
    shown = render.human(moving((copied, BLUE, GREEN), copied, BLUE, other).plan)
    assert "must be replaced" in shown
    assert "until it exists again" not in shown


def test_no_successor_takes_the_traffic_of_a_deployment_by_itself() -> None:
    split = endpoint({"blue": 90, "green": 10})
    bigger = deployment("blue", instance_type="Standard_E4s_v3")
    made = moving((split, BLUE, GREEN), split, bigger, GREEN)
    with pytest.raises(CannotRename, match="requests use its name") as refused:
        list(to_rename(made.plan))
    assert "declare a new resource next to it and move the traffic" in str(refused.value.found.hint)


def test_copies_of_requests_follow_the_same_order() -> None:
    mirrored = {"mirror_traffic": {"green": 20}}
    made = planned(cloud(), *ASSETS, endpoint({"blue": 100}, **mirrored), BLUE, GREEN)
    first, last = (
        pointer.get(one.body, ("properties", "mirrorTraffic"))
        for one in made.work.steps
        if one.target == RISK
    )
    assert (first, last) == ({}, {"green": 20})


def test_a_deployment_with_traffic_is_deleted_by_no_plan() -> None:
    made = moving((endpoint({"blue": 100}), BLUE), endpoint(), prune=True)
    (found,) = made.plan.errors
    assert found.rule.code == "MLC408"
    assert found.message.endswith("blue is to get 100 % of the requests to its endpoint")


def test_a_share_for_a_deployment_that_is_nowhere_is_an_error_at_its_name() -> None:
    made = moving((endpoint({"blue": 100}), BLUE), endpoint({"red": 100}), BLUE)
    assert [one.rule.code for one in made.plan.errors] == ["MLC402"]


def test_a_new_identity_and_another_size_force_a_replacement() -> None:
    before = (endpoint(identity={"type": "system_assigned"}), BLUE)
    none = endpoint(identity={"type": "none"})
    assert actions(moving(before, none, BLUE).plan)["online-endpoint/risk"] == "replace"
    other = deployment("blue", instance_type="Standard_E4s_v3")
    changed = actions(moving(before, endpoint(), other).plan)
    assert changed == {"online-deployment/risk/blue": "replace"}


@pytest.mark.parametrize(
    "values",
    [
        {"instance_count": 3},
        {"environment_variables": {"A": "1"}},
        {"request_settings": {"request_timeout_ms": 90_000}},
        {"liveness_probe": {"initial_delay": 180}},
        {"app_insights_enabled": True},
        {"egress_public_network_access": "disabled"},
        {"model_mount_path": "/models"},
        {"tags": {"a": "b"}},
    ],
)
def test_the_other_fields_change_in_place_and_stay_changed(values: dict[str, Data]) -> None:
    backend = there(endpoint({"blue": 100}), BLUE)
    made = planned(backend, *ASSETS, endpoint({"blue": 100}), deployment("blue", **values))
    assert actions(made.plan) == {"online-deployment/risk/blue": "update"}
    succeeded(made.work, backend)
    again = planned(backend, *ASSETS, endpoint({"blue": 100}), deployment("blue", **values))
    assert again.plan.empty


def test_what_the_service_adds_to_the_variables_is_no_drift() -> None:
    backend = there(endpoint(), deployment("blue", environment_variables={"A": "1"}))
    address = Address("online-deployment", "blue", "risk")
    body = dict(backend.read([address])[address].body)
    pointer.put(body, ("properties", "environmentVariables", "AML_APP_ROOT"), "/var/azureml-app")
    backend.put(address, body).wait()
    same = deployment("blue", environment_variables={"A": "1"})
    assert planned(backend, *ASSETS, endpoint(), same).plan.empty
    other = deployment("blue", environment_variables={"A": "2"})
    (change,) = planned(backend, *ASSETS, endpoint(), other).plan.pending
    assert [one.at for one in change.fields] == [("environment_variables", "A")]


def test_machines_are_paid_for_all_month() -> None:
    made = planned(cloud(), *ASSETS, endpoint(), deployment("blue", instance_count=3))
    (one,) = cost.of_plan(made.plan).changes
    assert one.after.floor == one.after.ceiling == pytest.approx(3 * 0.192 * cost.HOURS)
    assert made.plan.changes[0].action is Action.CREATE


@pytest.mark.parametrize(
    ("size", "count", "cores"),
    [
        ("Standard_DS3_v2", 10, 48),  # the example of how-to-manage-quotas
        ("Standard_D4as_v4", 1, 8),
        ("Standard_NC24ads_A100_v4", 2, 48),
    ],
)
def test_some_sizes_need_a_fifth_more_cores_for_upgrades(size: str, count: int, cores: int) -> None:
    values = {"instance_type": size, "instance_count": count}
    value: Effective = values.get
    claims = ONLINE_DEPLOYMENT.quota.claims(value, "eastus")
    assert claims["eastus", "total"].most == cores


def test_roles_of_the_writes_are_told_apart() -> None:
    made = planned(cloud(), *ASSETS, endpoint({"blue": 100}), BLUE)
    roles = [one.role for one in made.work.steps if one.target == RISK]
    assert roles == [StepRole.CREATE, StepRole.SET_DEFAULT]

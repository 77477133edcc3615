"""Locks, permissions, metrics; and who is let in."""

from __future__ import annotations

import base64
import json

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.backend import BackendError
from mlctl.kinds.address import Address, Scope
from mlctl.pointer import Data
from mlctl.simulator.control_plane.locks import Level
from tests.builders.emulator import BASE, CLUSTER, GROUP, WS, Wall, World, world

LOCKS = "/providers/Microsoft.Authorization/locks"
CPU = f"{WS}/computes/cpu"


def locked(scope: str, level: str) -> World:
    here = world()
    here.made(CPU, CLUSTER)
    answer = here.put(f"{scope}{LOCKS}/keep", {"properties": {"level": level, "notes": "n"}})
    assert answer.status == 201
    return here


@pytest.mark.parametrize("scope", ["/subscriptions/sub", GROUP, WS, CPU], ids=len)
def test_a_lock_forbids_deleting_what_is_in_its_scope(scope: str) -> None:
    here = locked(scope.upper().replace("SUBSCRIPTIONS", "subscriptions"), "CanNotDelete")
    answer = here.ask("DELETE", CPU)
    assert (answer.status, answer.code) == (409, "ScopeLocked")
    assert here.put(CPU, {**CLUSTER, "tags": {"a": "b"}}).status == 200


def test_a_read_only_lock_forbids_every_write() -> None:
    here = locked(GROUP, "ReadOnly")
    assert [here.put(CPU, CLUSTER).code, here.ask("DELETE", CPU).code] == ["ScopeLocked"] * 2
    assert here.get(CPU).status == 200


def test_a_lock_elsewhere_forbids_nothing() -> None:
    here = locked(f"{GROUP}2", "ReadOnly")
    assert here.ask("DELETE", CPU).status == 202


def test_a_lock_on_a_group_is_none_on_another_whose_name_begins_so() -> None:
    here = locked(GROUP, "CanNotDelete")
    elsewhere = CPU.replace("/rg/", "/rg2/")
    here.made(elsewhere.replace("cpu", "gpu"), CLUSTER)
    assert here.ask("DELETE", elsewhere.replace("cpu", "gpu")).status == 202


def test_a_lock_that_was_removed_forbids_nothing() -> None:
    here = locked(GROUP, "CanNotDelete")
    assert here.ask("DELETE", f"{GROUP}{LOCKS}/keep").status == 200
    assert here.ask("DELETE", CPU).status == 202


def clusters_of(here: World) -> LocalBackend:
    return LocalBackend(here.store, Scope("sub", "rg", "ws"))


def standing(here: World, path: str = CPU) -> list[Data]:
    """What a cluster says when it should have a node."""
    scale = {"maxNodeCount": 2, "minNodeCount": 1, "nodeIdleTimeBeforeScaleDown": "PT2M"}
    here.made(path, {**CLUSTER, "properties": {**SIZED, "properties": {"scaleSettings": scale}}})
    clusters_of(here).advance(3600)
    inner = here.get(path).data["properties"]["properties"]
    return [inner[name] for name in ("allocationState", "currentNodeCount", "targetNodeCount")]


SIZED = {"computeType": "AmlCompute"}


def test_a_lock_on_a_group_holds_the_nodes_of_its_clusters_until_it_goes() -> None:
    here = locked(GROUP, "CanNotDelete")
    assert standing(here) == ["Resizing", 0, 0]
    here.ask("DELETE", f"{GROUP}{LOCKS}/keep")
    assert standing(here) == ["Steady", 1, 1]


def test_a_cluster_that_is_made_beneath_a_lock_gets_no_nodes() -> None:
    assert standing(locked(GROUP, "CanNotDelete"), f"{WS}/computes/new") == ["Resizing", 0, 0]
    assert standing(locked(f"{GROUP}2", "ReadOnly"), f"{WS}/computes/new") == ["Steady", 1, 1]


def test_two_locks_hold_until_both_have_gone() -> None:
    here = locked(GROUP, "CanNotDelete")
    clusters_of(here).engine.lock([Address("compute", "cpu")], locked=True)
    here.ask("DELETE", f"{GROUP}{LOCKS}/keep")
    assert standing(here) == ["Resizing", 0, 0]
    clusters_of(here).engine.lock([Address("compute", "cpu")], locked=False)
    assert standing(here) == ["Steady", 1, 1]


def test_a_lock_that_comes_while_a_cluster_is_made_holds_it() -> None:
    here = world()
    here.put(f"{WS}/computes/cpu", CLUSTER)
    here.put(f"{GROUP}{LOCKS}/keep", {"properties": {"level": "CanNotDelete"}})
    clusters_of(here).settle()
    assert standing(here) == ["Resizing", 0, 0]


def test_a_lock_that_was_set_beside_the_emulator_is_seen_by_its_callers() -> None:
    here = world()
    here.made(CPU, CLUSTER)
    clusters_of(here).engine.lock([], locked=True)
    assert here.get(f"{GROUP}{LOCKS}").names == ["local"]
    assert here.ask("DELETE", CPU).code == "ScopeLocked"
    assert here.ask("DELETE", f"{CPU}{LOCKS}/local").status == 200
    assert here.ask("DELETE", CPU).status == 202


def test_a_lock_that_a_caller_set_holds_who_works_beside_the_emulator() -> None:
    here = locked(GROUP, "ReadOnly")
    (lock,) = clusters_of(here).status().locks
    assert (lock.scope, lock.level) == (GROUP, Level.READ_ONLY)
    with pytest.raises(BackendError, match="cannot perform write"):
        clusters_of(here).put(Address("compute", "new"), CLUSTER)
    assert clusters_of(here).engine.lock([], locked=False) == [Address("compute", "cpu")]
    assert here.put(CPU, CLUSTER).status == 200


@pytest.mark.parametrize("path", [CPU.replace("/sub/", "//sub/"), CPU.replace("/rg/", "/%72g/")])
def test_another_spelling_of_a_path_is_no_way_around_a_lock(path: str) -> None:
    assert locked(GROUP, "ReadOnly").ask("DELETE", path).code == "ScopeLocked"


def test_the_locks_of_a_scope_are_those_above_and_beneath_it() -> None:
    here = locked(GROUP, "CanNotDelete")
    here.put(f"{CPU}{LOCKS}/inner", {"properties": {"level": "readonly"}})
    here.put(f"{GROUP}2{LOCKS}/other", {"properties": {"level": "readonly"}})
    assert here.get(f"{WS}{LOCKS}").names == ["keep", "inner"]
    assert here.get(f"{GROUP}{LOCKS}/keep").data["properties"]["notes"] == "n"


@pytest.mark.parametrize("level", ["Sometimes", None, 5])
def test_a_lock_of_no_level_is_refused(level: Data) -> None:
    answer = world().put(f"{GROUP}{LOCKS}/keep", {"properties": {"level": level}})
    assert (answer.status, answer.code) == (400, "InvalidLockLevel")


def test_the_caller_may_do_everything() -> None:
    answer = world().get(f"{GROUP}/providers/Microsoft.Authorization/permissions")
    assert answer.data["value"][0]["actions"] == ["*"]


def test_metrics_have_the_names_asked_for() -> None:
    url = f"{WS}/providers/Microsoft.Insights/metrics?metricnames=Preempted Nodes,Preempted Cores"
    named = [each["name"]["value"] for each in world().get(url).data["value"]]
    assert named == ["Preempted Nodes", "Preempted Cores"]


def test_the_metadata_is_an_object_now_and_was_an_array_before() -> None:
    here = world()
    now = here.get("/metadata/endpoints?api-version=2022-09-01").data
    before = here.get("/metadata/endpoints?api-version=2019-05-01").data
    assert (now["resourceManager"], before) == (BASE, [now])


def token(here: World, headers: dict[str, str] | None = None) -> Data:
    url = "/msi/token?api-version=2019-08-01&resource=https://management.azure.com"
    return here.get(url, headers=headers or {"x-identity-header": "s3cret"}).data


def test_a_managed_identity_gets_a_token_of_three_parts() -> None:
    granted = token(world())
    head, claims, signature = granted["access_token"].split(".")
    read = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert (read["aud"], str(read["exp"])) == (
        "https://management.azure.com",
        granted["expires_on"],
    )
    assert "" not in (head, signature)


def test_a_virtual_machine_gets_a_token_when_it_says_that_it_is_one() -> None:
    here, url = world(), "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=r"
    assert here.get(url, headers={"metadata": "true"}).data["resource"] == "r"
    assert here.get(url).status == 400


def test_an_application_gets_a_token_for_its_secret() -> None:
    form = b"client_id=a&client_secret=s3cret&scope=r/.default"
    answer = world(token="s3cret").ask("POST", "/tenant/oauth2/v2.0/token", form)
    assert (answer.data["resource"], answer.data["expires_in"]) == ("r", 86400)


def test_an_application_with_another_secret_gets_none() -> None:
    form = b"client_id=a&client_secret=guess"
    assert world(token="s3cret").ask("POST", "/tenant/oauth2/token", form).status == 401


def test_the_authority_describes_itself() -> None:
    here = world()
    found = here.get("/common/discovery/instance?api-version=1.1").data["tenant_discovery_endpoint"]
    assert here.get(found).data["token_endpoint"].startswith(BASE)


def test_without_a_token_set_everybody_is_let_in() -> None:
    assert world().get(WS).status == 200


def test_with_a_token_set_nobody_else_is() -> None:
    answer = world(token="s3cret").get(WS)
    assert (answer.status, answer.code) == (401, "AuthenticationFailed")
    assert str(answer.header("www-authenticate")).startswith("Bearer ")


@pytest.mark.parametrize("given", ["guess", "a.b.c", "s3cre", "ü", ".", ""])
def test_another_token_is_refused(given: str) -> None:
    answer = world(token="s3cret").get(WS, headers={"authorization": f"Bearer {given}"})
    assert answer.status == 401


def test_the_token_and_what_it_signed_open_the_door() -> None:
    here = world(token="s3cret")
    for given in ("s3cret", token(here)["access_token"]):
        assert here.get(WS, headers={"authorization": f"bearer {given}"}).status == 200


def test_a_signed_token_ends() -> None:
    wall = Wall()
    here = world(token="s3cret", now=wall)
    given = token(here)["access_token"]
    wall.time += 86400
    assert here.get(WS, headers={"authorization": f"Bearer {given}"}).status == 401


def test_a_managed_identity_with_another_secret_gets_no_token() -> None:
    assert "error" in token(world(token="s3cret"), {"x-identity-header": "guess"})


def test_tokens_of_two_emulators_do_not_open_each_others_doors() -> None:
    given = token(world(token="s3cret"))["access_token"]
    answer = world(token="other").get(WS, headers={"authorization": f"Bearer {given}"})
    assert answer.status == 401


def test_providers_and_tenants_are_there_for_who_looks_them_up() -> None:
    here = world()
    provider = here.get("/subscriptions/sub/providers/microsoft.machinelearningservices").data
    assert provider["registrationState"] == "Registered"
    assert here.get("/subscriptions/sub/providers/Contoso.Toasters").status == 404
    assert len(here.get("/tenants").data["value"]) == 1
    assert len(here.get("/subscriptions/sub/providers").data["value"]) == 3


def test_a_cloud_made_new_has_no_lock_left() -> None:
    here = locked(GROUP, "CanNotDelete")
    LocalBackend(here.store, Scope("sub", "rg", "ws")).reset()
    assert here.get(f"{GROUP}{LOCKS}").data == {"value": []}

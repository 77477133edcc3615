"""What programs read of a plan."""

from __future__ import annotations

import json
from typing import Any

from mlctl.inert import as_json, json_pieces
from mlctl.render.plan import plan_json
from tests.builders.plans import plan, workspace
from tests.builders.resources import CLUSTER, ENDPOINT

SSH = CLUSTER + "ssh_settings: {admin_username: kim, admin_password: Correct-Horse-1}\n"
FLAT = (
    "$schema: https://x/batchDeployment.schema.json\nname: first\nendpoint_name: scores\n"
    "model: azureml:heart:1\ncompute: azureml:cpu-cluster\nmini_batch_size: 10\n"
)
MODEL = "$schema: https://x/model.schema.json\nname: heart\nversion: 1\npath: azureml://x/y\n"


def document(*texts: str, before: tuple[str, ...] = (), destroying: bool = False) -> dict[str, Any]:
    made = plan(*texts, backend=workspace(*before), destroying=destroying)
    return plan_json.document(made.plan)


def change(*texts: str, before: tuple[str, ...] = (), destroying: bool = False) -> dict[str, Any]:
    changes = document(*texts, before=before, destroying=destroying)["resource_changes"]
    last: dict[str, Any] = changes[-1]
    return {**last["change"], "reason": last["action_reason"]}


def test_a_plan_says_of_what_workspace_and_backend_it_is() -> None:
    made = document(CLUSTER)
    assert made["format_version"] == "1.0"
    assert made["backend"] == "local"
    assert made["workspace"]["workspace"] == "ws"


def test_a_change_names_its_kind_and_the_line_that_asked_for_it() -> None:
    (made,) = document("# head\n" + CLUSTER)["resource_changes"]
    assert (made["address"], made["kind"], made["name"]) == (
        "compute/cpu-cluster",
        "compute",
        "cpu-cluster",
    )
    assert made["source"] == {"filename": "main.yml", "line": 2}


def test_a_new_resource_has_nothing_before_and_its_values_with_defaults_after() -> None:
    made = change(CLUSTER + "max_instances: 2\n")
    assert (made["actions"], made["before"]) == (["create"], None)
    assert (
        made["after"] | {"name": "cpu-cluster", "max_instances": 2, "tier": "dedicated"}
        == (made["after"])
    )


def test_what_the_service_fills_in_is_unknown_until_it_is_there() -> None:
    assert change(ENDPOINT)["after_unknown"]["scoring_uri"] is True
    assert change(ENDPOINT + "tags: {a: b}\n", before=(ENDPOINT,))["after_unknown"] == {}


def test_nothing_is_unknown_of_an_object_that_the_file_does_not_ask_for() -> None:
    assert "identity" not in change(CLUSTER)["after_unknown"]
    asked = change(CLUSTER + "identity: {type: system_assigned}\n")
    assert asked["after_unknown"]["identity"]["principal_id"] is True


def test_an_update_differs_in_the_changed_fields_only() -> None:
    made = change(CLUSTER + "max_instances: 6\n", before=(CLUSTER,))
    assert made["after"] == made["before"] | {"max_instances": 6}
    assert made["before"]["provisioning_state"] == "Succeeded"


def test_a_changed_tag_leaves_the_other_tags_as_they_are() -> None:
    made = change(CLUSTER + "tags: {a: x, b: y}\n", before=(CLUSTER + "tags: {a: x, c: z}\n",))
    assert made["before"]["tags"] == {"a": "x", "c": "z"}
    assert made["after"]["tags"] == {"a": "x", "b": "y"}


def test_a_field_keeps_its_place_in_the_form_of_the_file() -> None:
    before = (CLUSTER, MODEL, ENDPOINT, FLAT)
    changed = FLAT.replace("mini_batch_size: 10", "mini_batch_size: 20")
    (made,) = (
        one["change"]
        for one in document(CLUSTER, MODEL, ENDPOINT, changed, before=before)["resource_changes"]
        if one["kind"] == "batch-deployment"
    )
    assert made["before"]["mini_batch_size"] == 10
    assert made["after"] == made["before"] | {"mini_batch_size": 20}


def test_nothing_to_do_is_listed_as_no_op() -> None:
    made = change(CLUSTER, before=(CLUSTER,))
    assert made["actions"] == ["no-op"]
    assert made["before"] == made["after"]


def test_a_replacement_says_which_path_forces_it() -> None:
    made = change(CLUSTER + "size: Standard_DS2_v2\n", before=(CLUSTER,))
    assert (made["actions"], made["reason"]) == (
        ["delete", "create"],
        "replace_because_cannot_update",
    )
    assert made["replace_paths"] == [["size"]]
    assert "provisioning_state" not in made["after"]


def test_a_destroyed_resource_has_nothing_after() -> None:
    made = change(CLUSTER, before=(CLUSTER,), destroying=True)
    assert (made["actions"], made["after"]) == (["delete"], None)
    assert made["after_sensitive"] is False


def test_a_secret_is_null_and_marked() -> None:
    made = change(SSH)
    assert made["after"]["ssh_settings"] == {"admin_username": "kim", "admin_password": None}
    assert made["after_sensitive"] == {"ssh_settings": {"admin_password": True}}


def test_no_secret_is_in_a_plan_whatever_it_does() -> None:
    other = SSH.replace("Horse-1", "Horse-2").replace("kim", "lee")
    for made in (document(SSH), document(other, before=(SSH,)), document(SSH, before=(SSH,))):
        assert "Correct-Horse" not in json.dumps(made)


def test_making_the_document_leaves_the_users_values_alone() -> None:
    made = plan(
        CLUSTER + "network_settings: {vnet_name: v, subnet: s}\nidentity: {type: system_assigned}\n"
    )
    assert plan_json.document(made.plan) == plan_json.document(made.plan)
    (one,) = made.plan.changes
    assert one.values["network_settings",] == {"vnet_name": "v", "subnet": "s"}


def test_a_plan_that_would_be_rejected_is_not_applyable_and_says_why() -> None:
    made = document(FLAT)
    assert made["applyable"] is False
    assert [one["code"] for one in made["diagnostics"]] == ["MLC402"] * 3


def test_a_plan_counts_what_it_does() -> None:
    made = document(CLUSTER + "size: Standard_DS2_v2\n", ENDPOINT, before=(CLUSTER,))
    assert made["summary"] == {"add": 2, "change": 0, "destroy": 1}
    assert made["applyable"] is True


def test_a_plan_that_is_printed_in_pieces_reads_as_the_whole_one() -> None:
    for texts in ((), (CLUSTER,), (SSH, ENDPOINT, MODEL)):
        made = plan(*texts, backend=workspace()).plan
        extra = {"patch": "##vso[task.complete]", "forecast": {"api_key": "Tr0ub4dor-and-3"}}
        whole = as_json({**plan_json.document(made), **extra}, indent=2)
        pieces = json_pieces({**plan_json.lazy_document(made), **extra}, indent=2)
        assert "".join(pieces) == whole + "\n"

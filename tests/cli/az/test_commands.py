"""The az-style verbs with all their flags: create, update, list, archive, delete."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.cli.shell.scope import LOCAL_SCOPE
from mlctl.kinds.address import Address
from tests.builders.shell import Run

SPOT = ("compute", "create", "-n", "spot", "--type", "amlcompute")
ENDPOINT = ("-e", "heart-classifier-batch")
BLUE = ("-n", "classifier-xgboost", *ENDPOINT)
UAI = (
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg/providers"
    "/Microsoft.ManagedIdentity/userAssignedIdentities"
)


@pytest.fixture
def full(applied: Run) -> Run:
    """mlctl in a workspace with the low-priority sample."""
    return applied


def body(address: str) -> Any:
    """What the workspace holds, on the wire."""
    backend = LocalBackend(".mlctl/local.db", LOCAL_SCOPE)
    wanted = Address.parse(address)
    found = backend.read([wanted])[wanted].body
    backend.close()
    return json.loads(json.dumps(found))


def test_a_cluster_is_made_from_flags_alone(mlctl: Run) -> None:
    done = mlctl(*SPOT, "--tier", "LowPriority", "--max-instances", "3", "--tags", "a=1", "b.c=2")
    made = body("compute/spot")
    assert (done.code, done.json["tier"]) == (0, "low_priority")
    assert made["properties"]["properties"]["scaleSettings"]["maxNodeCount"] == 3
    assert made["tags"] == {"a": "1", "b.c": "2"}


def test_every_flag_of_a_cluster_reaches_the_wire(mlctl: Run) -> None:
    done = mlctl(
        *(*SPOT, "--size", "Standard_D4ds_v5", "--tier", "dedicated", "--description", "for all"),
        *("--min-instances", "1", "--max-instances", "2", "-d", "300", "-l", "westeurope"),
        *("--admin-username", "me", "--admin-password", "Sesame-1", "--ssh-key-value", "ssh-rsa A"),
        *("-p", "false", "--vnet-name", "net", "--subnet", "default"),
        *("--enable-node-public-ip", "no", "--identity-type", "UserAssigned"),
        *("-i", f"{UAI}/one", f"{UAI}/two", "--acquire-policy-token", "--change-reference", "r"),
    )
    made = body("compute/spot")
    inner = made["properties"]["properties"]
    assert done.code == 0, done.err
    assert made["location"] == "westeurope"
    assert made["properties"]["description"] == "for all"
    assert sorted(made["identity"]["userAssignedIdentities"]) == [f"{UAI}/one", f"{UAI}/two"]
    account = {"adminUserName": "me", "adminUserSshPublicKey": "ssh-rsa A"}
    assert inner["userAccountCredentials"] == account  # the service tells no password
    assert inner["subnet"]["id"].endswith("/virtualNetworks/net/subnets/default")
    assert (inner["remoteLoginPortPublicAccess"], inner["enableNodePublicIp"]) == (
        "Disabled",
        False,
    )
    assert inner["scaleSettings"]["nodeIdleTimeBeforeScaleDown"] == "PT5M"


def test_a_secret_of_the_command_line_is_never_printed(
    mlctl: Run, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")  # so that no line is cut before it
    secret = "Sesame-open-1"
    given = (*SPOT, "--admin-username", "me", "--admin-password", secret)
    lines = [
        mlctl(*given, "--dry-run"),
        mlctl(*given, "--dry-run", "-o", "json"),
        mlctl(*given, "--min-instances", "9", "--max-instances", "1"),
        mlctl(*SPOT, "--set", f"ssh_settings.admin_password={secret}", "min_instances=9"),
        mlctl(*given, "-f", sample / "low-pri-cluster.yml", "--min-instances", "9"),
        mlctl(
            *("compute", "create", "-f", sample / "low-pri-cluster.yml", "--set"),
            *(f"ssh_settings.admin_password={secret}", "min_instances=9"),
        ),
        mlctl(*given, "--debug", "--verbose"),
        mlctl("compute", "show", "-n", "spot"),
    ]
    assert [one for one in lines if secret in one.out + one.err] == []


def test_flags_are_over_the_file_and_set_is_over_the_flags(mlctl: Run, sample: Path) -> None:
    done = mlctl(
        *("compute", "create", "-f", sample / "low-pri-cluster.yml", "-n", "mine"),
        *("--max-instances", "7", "--set", "max_instances=8", "tags.by=me"),
    )
    assert [done.json[key] for key in ("name", "max_instances", "tags", "tier")] == [
        *("mine", 8, {"by": "me"}, "low_priority")
    ]


def test_an_error_points_at_the_flag_or_at_the_file(mlctl: Run, sample: Path) -> None:
    file = sample / "low-pri-cluster.yml"
    said = mlctl("compute", "create", "-f", file, "--min-instances", "9").err
    assert "--> <command line>:1:17" in said
    assert "1 | --min-instances 9" in said
    assert f"--> {file}:" in said


def test_an_error_inside_of_a_value_points_at_its_flag(mlctl: Run) -> None:
    done = mlctl(*SPOT, "--identity-type", "user_assigned", "--user-assigned-identities", "bad")
    line = "--name spot --type amlcompute --identity-type user_assigned --user-assigned-identities"
    assert done.code == 1
    assert f"--> <command line>:1:{len(line) + 2}\n" in done.err


def test_identities_of_the_user_say_of_which_type_they_are(mlctl: Run) -> None:
    mlctl(*SPOT)
    line = ("compute", "update", "-n", "spot", "--user-assigned-identities", f"{UAI}/one")
    identity = mlctl(*line, "--query", "identity").json
    assert identity["type"] == "user_assigned"
    assert identity["user_assigned_identities"] == [{"resource_id": f"{UAI}/one"}]


def test_a_path_on_the_command_line_starts_here(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "conda.yml").write_text("dependencies: [python=3.10]\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "e.yml").write_text("name: e\nimage: ubuntu:22.04\n")
    done = mlctl("environment", "create", "-f", "deep/e.yml", "--conda-file", "conda.yml")
    assert done.json["conda_file"] == {"dependencies": ["python=3.10"]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compute", "create", "-n", "c"), "required without --file: --type"),
        (("compute", "create"), "required without --file: --name, --type"),
        (("model", "create", "-p", "x"), "required without --file: --name"),
        (("batch-deployment", "create", "-n", "d"), "are required: --file/-f"),
        ((*SPOT, "--user-object-id", "1"), "only valid for type ComputeInstance"),
        ((*SPOT[:4], "-t", "DataFactory"), "'DataFactory' is not a valid value for"),
        ((*SPOT[:4], "-t", "ComputeInstance", "--tier", "dedicated"), "is not for a compute"),
        ((*SPOT, "--tier", "cheap"), "Allowed values: dedicated, low_priority."),
        ((*SPOT, "--min-instances", "few"), "It takes a whole number."),
        ((*SPOT, "--enable-node-public-ip=maybe"), "Allowed values: true, false."),
        ((*SPOT, "--set", "=1"), "usage error: Empty key in --set."),
        (("batch-endpoint", "update", "-n", "e", "--defaults", "x=1"), "unknown key `x`"),
        (("batch-endpoint", "update"), "required unless the file has them: --name"),
        (("model", "show", "-n", "m", "-v", "1", "-l", "latest"), "exclude each other"),
        (("model", "list", "--archived-only", "--include-archived"), "exclude each other"),
    ],
)
def test_usage_errors_exit_with_2_and_name_the_flag(
    mlctl: Run, words: tuple[str, ...], said: str
) -> None:
    done = mlctl(*words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_model_is_made_from_flags(mlctl: Run, sample: Path) -> None:
    flags = ("-n", "m", "--path", sample / "model", "--type", "MLflow_model", "--stage", "Dev")
    first, same, next_one = (
        mlctl("model", "create", *flags),
        mlctl("model", "create", *flags),
        mlctl("model", "create", "-n", "m", "-p", "azureml://datastores/d/paths/p", "-v", "7"),
    )
    assert [one.json["version"] for one in (first, same, next_one)] == ["1", "1", "7"]
    assert (first.json["type"], first.json["stage"]) == ("mlflow_model", "Dev")


def test_an_environment_is_built_from_flags(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "ctx").mkdir()
    (tmp_path / "ctx" / "Dockerfile").write_text("FROM ubuntu\n")
    flags = ("--build-context", "ctx", "--dockerfile-path", "Dockerfile", "--os-type", "Linux")
    done = mlctl("environment", "create", "-n", "e", *flags)
    assert done.json["build"]["dockerfile_path"] == "Dockerfile"


def test_an_update_changes_what_was_said_and_nothing_else(full: Run) -> None:
    before = body("compute/low-pri-cluster")
    done = full("compute", "update", "-n", "low-pri-cluster", "--max-instances", "3")
    after = body("compute/low-pri-cluster")
    assert (done.code, done.json["max_instances"]) == (0, 3)
    assert after["properties"]["properties"]["scaleSettings"].pop("maxNodeCount") == 3
    before["properties"]["properties"]["scaleSettings"].pop("maxNodeCount")
    assert before["properties"].pop("modifiedOn") < after["properties"].pop("modifiedOn")
    assert (after["properties"], after.get("tags")) == (before["properties"], before.get("tags"))


def test_an_update_applies_no_default(mlctl: Run) -> None:
    mlctl(*SPOT, "--max-instances", "9", "-d", "600", "--tags", "a=1")
    done = mlctl("compute", "update", "-n", "spot", "--set", "tags.b=2")
    kept = [done.json[key] for key in ("max_instances", "idle_time_before_scale_down", "tags")]
    assert kept == [9, 600, {"a": "1", "b": "2"}]


def test_an_update_of_a_cluster_in_a_network_keeps_its_subnet(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, sent = LocalBackend.put, []

    def noting(self: LocalBackend, address: Address, given: Any) -> Any:
        sent.append(given["properties"]["properties"].get("subnet"))
        return put(self, address, given)

    monkeypatch.setattr(LocalBackend, "put", noting)
    mlctl(*SPOT, "--vnet-name", "v", "--subnet", "s")
    for flags in (("--max-instances", "3"), ("--set", "tags.a=1")):
        assert mlctl("compute", "update", "-n", "spot", *flags).code == 0
    assert sent == [body("compute/spot")["properties"]["properties"]["subnet"]] * 3
    assert sent[0]["id"].endswith("/virtualNetworks/v/subnets/s")


@pytest.mark.parametrize(
    ("key", "word"),
    [("allocationState", "Hibernating"), ("remoteLoginPortPublicAccess", "Null"), ("osType", 7)],
)
def test_a_word_of_the_service_that_nobody_knows_costs_no_result(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch, key: str, word: object
) -> None:
    read = LocalBackend.read

    def newer(self: LocalBackend, addresses: Any) -> Any:
        found = copy.deepcopy(read(self, addresses))
        for live in found.values():
            live.body["properties"]["properties"][key] = word
        return found

    monkeypatch.setattr(LocalBackend, "read", newer)
    for line in (SPOT, ("compute", "show", "-n", "spot"), SPOT):
        done = mlctl(*line)
        assert (done.code, done.json["name"]) == (0, "spot"), done.err


def test_an_update_of_nothing_writes_nothing(full: Run) -> None:
    done = full("compute", "update", "-n", "low-pri-cluster", "--min-instances", "0")
    assert (done.code, "No changes" in done.err) == (0, True)


def test_updates_are_carried_out_in_the_order_of_the_line(full: Run) -> None:
    cluster = ("compute", "update", "-n", "low-pri-cluster", "--query", "tags")
    assert full(*cluster, "--set", "tags.a=1", "--remove", "tags").json == {}
    assert full(*cluster, "--remove", "tags", "--set", "tags.a=1").json == {"a": "1"}


def test_an_update_says_nothing_of_what_was_there_before(full: Run) -> None:
    file = Path("sample/low-pri-cluster.yml")
    assert "MLC305" in full("validate", file).out  # the size retires
    done = full("compute", "update", "-n", "low-pri-cluster", "--max-instances", "3")
    assert "MLC" not in done.err
    assert (
        "MLC301" in full("compute", "update", "-n", "low-pri-cluster", "--min-instances", "5").err
    )


def test_what_cannot_be_changed_in_place_is_replaced_only_where_asked(mlctl: Run) -> None:
    mlctl(*SPOT)
    line = ("compute", "update", "-n", "spot", "--set", "size=Standard_D4ds_v5")
    refused, done = mlctl(*line), mlctl(*line, "--replace")
    assert (refused.code, "Pass --replace" in refused.err) == (1, True)
    assert (done.code, done.json["size"].casefold()) == (0, "standard_d4ds_v5")


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("max_instance=3", "Did you mean 'max_instances'?"),
        ("name=other", "`name` cannot be changed"),
        ("provisioning_state=x", "is only set by the service"),
        ("provisionin=x", "Couldn't find 'provisionin' in ''. Available options: ['description', "),
    ],
)
def test_an_update_that_makes_no_sense_exits_with_1(full: Run, pair: str, said: str) -> None:
    done = full("compute", "update", "-n", "low-pri-cluster", "--set", pair)
    assert (done.code, done.out) == (1, "")
    assert said in done.err


def test_an_update_of_what_is_not_there_exits_with_3(mlctl: Run) -> None:
    lines = [
        mlctl("compute", "update", "-n", "nope", "--max-instances", "1"),
        mlctl("model", "update", "-n", "nope", "--stage", "x"),
        mlctl("model", "archive", "-n", "nope"),
    ]
    assert [(one.code, "ERROR: (ResourceNotFound)" in one.err) for one in lines] == [(3, True)] * 3


def test_the_default_deployment_is_set_and_unset(full: Run) -> None:
    endpoint = ("batch-endpoint", "update", "-n", "heart-classifier-batch", "--query", "defaults")
    assert full(*endpoint, "--remove", "defaults.deployment_name").json == {}
    name = {"deployment_name": "classifier-xgboost"}
    assert full(*endpoint, "--set", "defaults.deployment_name=classifier-xgboost").json == name
    assert full(*endpoint, "--set", "defaults=null").json == {}
    assert full(*endpoint, "--defaults", "deployment_name=classifier-xgboost").json == name


def test_a_description_is_taken_away(full: Run) -> None:
    done = full(
        "batch-endpoint", "update", "-n", "heart-classifier-batch", "--remove", "description"
    )
    assert (done.code, done.json.get("description", "")) == (0, "")


def test_an_identity_is_taken_away_whole(mlctl: Run) -> None:
    mlctl(*SPOT, "--identity-type", "user_assigned", "-i", f"{UAI}/one")
    assert "identity" in body("compute/spot")
    done = mlctl("compute", "update", "-n", "spot", "--remove", "identity")
    assert (done.code, "identity" in body("compute/spot")) == (0, False)


def test_an_identity_of_the_system_takes_the_place_of_those_of_users(mlctl: Run) -> None:
    mlctl(*SPOT, "--identity-type", "user_assigned", "-i", f"{UAI}/one")
    done = mlctl("compute", "update", "-n", "spot", "--identity-type", "system_assigned")
    assert (done.code, body("compute/spot")["identity"]["type"]) == (0, "SystemAssigned"), done.err
    assert not body("compute/spot")["identity"].get("userAssignedIdentities")


def test_what_nothing_stands_for_cannot_be_taken_away(mlctl: Run) -> None:
    mlctl(*SPOT)
    done = mlctl("compute", "update", "-n", "spot", "--remove", "ssh_public_access_enabled")
    assert (done.code, "cannot be removed" in done.err) == (1, True)


def test_a_file_is_laid_over_the_live_one(full: Run) -> None:
    Path("part.yml").write_text(
        "endpoint_name: heart-classifier-batch\nsettings: {mini_batch_size: 5}\n"
    )
    done = full("batch-deployment", "update", "-f", "part.yml", "-n", "classifier-xgboost")
    assert (done.code, done.json["mini_batch_size"]) == (0, 5), done.err
    assert done.json["retry_settings"] == {"max_retries": 3, "timeout": 300}


def test_a_flat_file_is_laid_over_the_live_one_too(full: Run) -> None:
    Path("flat.yml").write_text("name: classifier-xgboost\nmini_batch_size: 6\n")
    done = full("batch-deployment", "update", "-f", "flat.yml", *ENDPOINT)
    assert (done.code, done.json["mini_batch_size"]) == (0, 6), done.err


def test_settings_are_updated_by_their_name_alone(full: Run) -> None:
    done = full("batch-deployment", "update", *BLUE, "--set", "retry_settings.timeout=60")
    assert done.json["retry_settings"] == {"max_retries": 3, "timeout": 60}


def test_set_default_makes_the_new_deployment_the_default_one(full: Run) -> None:
    file = "sample/deployment.yml"
    done = full("batch-deployment", "create", "--f", file, "--name", "blue", "--set-default")
    assert (done.code, done.json["name"]) == (0, "blue")
    assert body("batch-endpoint/heart-classifier-batch")["properties"]["defaults"] == {
        "deploymentName": "blue"
    }


def test_set_default_that_has_no_effect_is_an_error(
    full: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = LocalBackend.put

    def forgetful(self: LocalBackend, address: Address, given: Any) -> Any:
        kept = {**given["properties"]}
        kept.pop("defaults", None)
        return put(self, address, {**given, "properties": kept})

    monkeypatch.setattr(LocalBackend, "put", forgetful)
    file = "sample/deployment.yml"
    done = full("batch-deployment", "create", "-f", file, "--name", "blue", "--set-default")
    assert (done.code, done.out) == (1, "")
    assert "ERROR: (NotEffective) batch-endpoint/heart-classifier-batch" in done.err


def test_set_default_and_no_wait_exclude_each_other(full: Run) -> None:
    line = ("batch-deployment", "create", "-f", "sample/deployment.yml", "-n", "blue")
    done = full(*line, "--set-default", "--no-wait")
    assert (done.code, "--set-default does not work with --no-wait" in done.err) == (2, True)


def test_no_wait_returns_once_the_write_is_accepted(mlctl: Run) -> None:
    done = mlctl(*SPOT, "--no-wait")
    state = ("compute", "show", "-n", "spot", "--query", "provisioning_state", "-o", "tsv")
    assert (done.code, done.out, mlctl(*state).out) == (0, "", "Creating\n")
    mlctl("local", "advance", "1h")
    assert mlctl(*state).out == "Succeeded\n"


def test_what_another_step_needs_is_waited_for_all_the_same(mlctl: Run) -> None:
    mlctl(*SPOT)
    line = ("compute", "update", "-n", "spot", "--set", "size=Standard_D4ds_v5", "--replace")
    assert mlctl(*line, "--no-wait").code == 0
    assert mlctl("compute", "show", "-n", "spot").json["provisioning_state"] == "Creating"


def test_a_delete_need_not_be_waited_for(mlctl: Run) -> None:
    mlctl(*SPOT)
    assert mlctl("compute", "delete", "-n", "spot", "-y", "--no-wait").code == 0
    assert mlctl("compute", "show", "-n", "spot").json["provisioning_state"] == "Deleting"


@pytest.mark.parametrize(
    "line",
    [
        (*SPOT,),
        ("compute", "update", "-n", "low-pri-cluster", "--max-instances", "3"),
        ("compute", "delete", "-n", "low-pri-cluster"),
        ("batch-endpoint", "create", "-n", "another"),
        (
            "batch-deployment",
            "create",
            "-f",
            "sample/deployment.yml",
            "-n",
            "blue",
            "--set-default",
        ),
        ("model", "archive", "-n", "heart-classifier"),
        ("model", "create", "-n", "m", "-p", "azureml://datastores/d/paths/p"),
    ],
    ids=lambda line: " ".join(line[:2]),
)
def test_a_dry_run_writes_nothing(full: Run, line: tuple[str, ...]) -> None:
    before = full("local", "status").json["workspaces"], body("compute/low-pri-cluster")
    done, data = full(*line, "--dry-run"), full(*line, "--dry-run", "-o", "json")
    assert "mlctl will perform" in done.out or "would reject" in done.out
    assert data.json["resource_changes"]
    assert (full("local", "status").json["workspaces"], body("compute/low-pri-cluster")) == before


def test_a_dry_run_of_what_would_be_refused_exits_with_1(full: Run) -> None:
    done = full(
        "compute",
        "create",
        "-n",
        "big",
        "-t",
        "amlcompute",
        "--min-instances",
        "100000",
        "--max-instances",
        "100000",
        "--dry-run",
    )
    assert (done.code, "MLC4" in done.out) == (1, True)


def test_archived_versions_are_in_no_list_and_stay_usable(full: Run) -> None:
    names = ("model", "list", "--query", "[].name")
    archived = full("model", "archive", "-n", "heart-classifier")
    assert (archived.code, archived.out) == (0, "")
    assert full(*names).json == []
    assert full(*names, "--include-archived").json == ["heart-classifier"]
    assert full(*names, "--archived-only").json == ["heart-classifier"]
    assert full("model", "show", "-n", "heart-classifier").json["is_archived"] is True
    assert full("model", "restore", "-n", "heart-classifier").code == 0
    assert full(*names).json == ["heart-classifier"]
    assert full(*names, "--archived-only").json == []


def test_one_version_is_archived_by_its_number_or_label(mlctl: Run) -> None:
    for _ in range(3):
        mlctl("model", "create", "-n", "m", "-p", f"azureml://datastores/d/paths/{_}")
    versions = ("model", "list", "-n", "m", "--query", "[].version")
    mlctl("model", "archive", "-n", "m", "-v", "2")
    assert mlctl(*versions).json == ["3", "1"]
    mlctl("model", "archive", "-n", "m", "--label", "latest")
    assert mlctl(*versions).json == ["1"]


def test_lists_are_cut_and_filtered(mlctl: Run) -> None:
    for name, stage in (("a", "Dev"), ("b", "Prod"), ("c", "Prod")):
        mlctl("model", "create", "-n", name, "-p", "azureml://datastores/d/paths/p", "-s", stage)
    query = ("--query", "[].name")
    assert mlctl("model", "list", "--stage", "prod", *query).json == ["b", "c"]
    assert mlctl("model", "list", "-r", "1", *query).json == ["a"]


def test_computes_of_another_type_are_none(full: Run) -> None:
    query = ("--query", "[].name")
    assert full("compute", "list", "--type", "AmlCompute", *query).json == ["low-pri-cluster"]
    assert full("compute", "list", "--type", "ComputeInstance", *query).json == []


def test_sizes_usage_and_nodes_have_the_shape_of_the_service(full: Run) -> None:
    size = full("compute", "list-sizes").json[0]
    used = full("compute", "list-usage").json[0]
    assert {"name", "family", "vCPUs", "gpus", "memoryGB", "lowPriorityCapable"} <= set(size)
    assert size["estimatedVMPrices"]["billingCurrency"] == "USD"
    assert set(used) == {"id", "type", "unit", "currentValue", "limit", "name"}
    assert full("compute", "list-nodes", "-n", "low-pri-cluster").json == []
    assert full("compute", "list-nodes", "-n", "nope").code == 3
    assert full("compute", "list-sizes", "-t", "ComputeInstance").json == []


def test_usage_is_that_of_the_region_asked_for(full: Run) -> None:
    query = ("--query", "[?name.value=='low_priority'].currentValue | [0]", "-o", "tsv")
    full("compute", "update", "-n", "low-pri-cluster", "--min-instances", "1")
    here = full("compute", "list-usage", *query).out
    there = full("compute", "list-usage", "-l", "westeurope", *query).out
    assert (int(here) > 0, there) == (True, "0\n")


def test_an_error_is_worded_as_az_words_one(mlctl: Run) -> None:
    mlctl(*SPOT)
    fault = ("--operation", "put", "--status", "400", "--code", "Oops", "--message", "no")
    mlctl("local", "fault", "add", "fail", *fault)
    done = mlctl("compute", "update", "-n", "spot", "--max-instances", "3")
    assert (done.code, done.out) == (1, "")
    assert "ERROR: (Oops) no\n" in done.err


def test_nothing_is_on_stderr_where_nothing_failed(full: Run) -> None:
    lines = [
        full(*SPOT, "--only-show-errors"),
        full("compute", "update", "-n", "spot", "--max-instances", "3", "--only-show-errors"),
        full("compute", "list", "--only-show-errors"),
        full("model", "archive", "-n", "heart-classifier", "--only-show-errors"),
        full("compute", "delete", "-n", "spot", "-y", "--only-show-errors"),
    ]
    assert [(one.code, one.err) for one in lines] == [(0, "")] * len(lines)


def test_a_delete_without_anybody_to_ask_is_refused(mlctl: Run) -> None:
    mlctl(*SPOT)
    done = mlctl("compute", "delete", "-n", "spot")
    assert (done.code, "no tty available" in done.err) == (1, True)


def test_az_can_be_told_not_to_ask(mlctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    mlctl(*SPOT)
    monkeypatch.setenv("AZURE_CORE_DISABLE_CONFIRM_PROMPT", "yes")
    assert mlctl("compute", "delete", "-n", "spot").code == 0


@pytest.mark.parametrize(
    ("form", "out"), [("tsv", ""), ("table", ""), ("json", "null\n"), ("none", "")]
)
def test_a_query_that_finds_nothing_is_nothing(full: Run, form: str, out: str) -> None:
    """As for az, whose scripts ask `[ -z "$(...)" ]`; JSON stays JSON."""
    assert full("compute", "list", "--query", "[0].nope", "-o", form).out == out


def test_a_script_that_is_no_python_is_refused_before_anything_is_written(
    full: Run, tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "score.py").write_text("def init(:\n")
    (tmp_path / "scored.yml").write_text(
        "name: scored\nendpoint_name: heart-classifier-batch\ntype: model\n"
        "model: azureml:heart-classifier:1\ncompute: azureml:low-pri-cluster\n"
        "environment: {image: an/image:1}\n"
        "code_configuration: {code: code, scoring_script: score.py}\n"
    )
    line = ("batch-deployment", "create", "-f", "scored.yml")
    done = full(*line)
    assert (done.code, "MLC327" in done.err, " --> code/score.py:1:10" in done.err) == (
        1,
        True,
        True,
    )
    assert full(*line, "--skip-script-validation").code == 0


def test_what_is_there_stays_as_it_is_where_asked(full: Run) -> None:
    line = ("compute", "create", "-t", "amlcompute", "--max-instances", "3", "--if-not-exists")
    there = full(*line, "-n", "low-pri-cluster", "--query", "max_instances")
    assert (there.code, there.out) == (0, "2\n")
    assert full(*line, "-n", "another", "--query", "max_instances").out == "3\n"


def test_of_several_documents_those_that_are_there_stay_as_they_are(
    full: Run, tmp_path: Path
) -> None:
    one = "name: {}\ntype: amlcompute\nsize: Standard_D2s_v3\nmax_instances: 1\n"
    two = one.format("low-pri-cluster") + "---\n" + one.format("another")
    (tmp_path / "two.yml").write_text(two)
    done = full("compute", "create", "-f", "two.yml", "--if-not-exists", "--query", "name")
    assert (done.code, done.out) == (0, '"another"\n')


def test_az_can_be_told_to_show_errors_only(mlctl: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mlctl("compute", "list").err != ""
    monkeypatch.setenv("AZURE_CORE_ONLY_SHOW_ERRORS", "true")
    assert mlctl("compute", "list").err == ""


def test_an_update_waits_for_what_is_in_motion_and_keeps_its_values(mlctl: Run) -> None:
    mlctl(*SPOT, "-d", "300", "--no-wait")
    done = mlctl("compute", "update", "-n", "spot", "--max-instances", "3")
    assert (done.code, "compute/spot is creating: waiting" in done.err) == (0, True)
    assert (done.json["max_instances"], done.json["idle_time_before_scale_down"]) == (3, 300)

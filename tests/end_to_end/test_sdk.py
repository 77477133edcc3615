"""The unmodified azure-ai-ml on the emulator, in one process: every operation that it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlctl.simulator.control_plane.faults import OperationStyle
from tests.builders.paths import SAMPLES
from tests.builders.sdk import Sdk, lead_here, registry_client, sdk

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _led(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    lead_here(monkeypatch)


def cluster(name: str = "cpu-cluster", **fields: Any) -> Any:
    from azure.ai.ml.entities import AmlCompute

    sized = {"size": "STANDARD_DS3_v2", "max_instances": 2}
    return AmlCompute(name=name, **{**sized, **fields})


def model(name: str = "heart", **fields: Any) -> Any:
    from azure.ai.ml.entities import Model

    path = "azureml://jobs/j/outputs/artifacts/paths/model/"
    return Model(name=name, **{"path": path, "type": "custom_model", **fields})


def environment(name: str | None = "env", **fields: Any) -> Any:
    from azure.ai.ml.entities import Environment

    return Environment(name=name, **{"image": "busybox", **fields})


def deployment(name: str = "blue", **fields: Any) -> Any:
    from azure.ai.ml.entities import BatchDeployment

    given = {"endpoint_name": "scoring", "model": "azureml:heart:1", "compute": "cpu-cluster"}
    return BatchDeployment(name=name, **{**given, **fields})


def with_endpoint(**settings: Any) -> Sdk:
    from azure.ai.ml.entities import BatchEndpoint

    here = sdk(**settings)
    here.ml.compute.begin_create_or_update(cluster()).result()
    here.ml.models.create_or_update(model(version="1"))
    here.ml.batch_endpoints.begin_create_or_update(BatchEndpoint(name="scoring")).result()
    return here


def with_deployment(**settings: Any) -> Sdk:
    here = with_endpoint(**settings)
    here.ml.batch_deployments.begin_create_or_update(deployment()).result()
    return here


def test_a_workspace_is_deleted_with_what_it_stands_on() -> None:
    from azure.ai.ml.entities import Workspace

    here = sdk()
    here.ml.workspaces.begin_create(Workspace(name="made", location="eastus")).result()
    here.ml.workspaces.begin_delete("made", delete_dependent_resources=True).result()
    assert sum(each.startswith("DELETE") for each in here.asked) > 1


def test_a_workspace_is_shown_and_listed() -> None:
    ml = sdk().ml
    assert ml.workspaces.get(ml.workspace_name).location == "eastus"
    ml.compute.begin_create_or_update(cluster()).result()
    assert [each.name for each in ml.workspaces.list()] == ["ws"]


def test_a_cluster_is_created_in_four_requests() -> None:
    here = sdk()
    made = here.ml.compute.begin_create_or_update(cluster(location="westus")).result()
    assert (made.provisioning_state, made.location) == ("Succeeded", "westus")
    assert [each.split()[0] for each in here.asked] == ["PUT", "GET", "GET", "GET"]


def test_a_cluster_comes_back_as_it_was_sent() -> None:
    ml = sdk().ml
    sent = cluster(tier="low_priority", min_instances=1, idle_time_before_scale_down=300)
    ml.compute.begin_create_or_update(sent).result()
    got = ml.compute.get("CPU-CLUSTER")
    assert (got.tier, got.min_instances, got.max_instances) == ("low_priority", 1, 2)
    assert (got.idle_time_before_scale_down, got.size) == (300.0, "STANDARD_DS3_V2")


def test_clusters_are_listed_over_pages() -> None:
    ml = sdk(page=2).ml
    for number in range(5):
        ml.compute.begin_create_or_update(cluster(f"cpu-{number}")).result()
    assert [each.name for each in ml.compute.list()] == [f"cpu-{number}" for number in range(5)]


def test_a_cluster_is_updated_and_deleted() -> None:
    from azure.core.exceptions import ResourceNotFoundError

    ml = sdk().ml
    ml.compute.begin_create_or_update(cluster()).result()
    got = ml.compute.get("cpu-cluster")
    got.max_instances = 5
    assert ml.compute.begin_update(got).result().max_instances == 5
    ml.compute.begin_delete("cpu-cluster").wait()
    with pytest.raises(ResourceNotFoundError):
        ml.compute.get("cpu-cluster")


def test_nodes_usages_and_sizes_are_listed() -> None:
    ml = sdk().ml
    ml.compute.begin_create_or_update(cluster()).result()
    used = {each.name["value"]: each.__dict__["currentValue"] for each in ml.compute.list_usage()}
    assert used["TotalClusters"] == 1
    assert "Standard_DS3_v2" in {each.name for each in ml.compute.list_sizes()}
    assert list(ml.compute.list_nodes("cpu-cluster")) == []


@pytest.mark.parametrize("style", list(OperationStyle), ids=lambda style: style.value)
def test_every_style_of_operations_is_understood(style: OperationStyle) -> None:
    ml = with_deployment(style=style).ml
    assert ml.batch_deployments.get("blue", "scoring").provisioning_state == "Succeeded"
    ml.batch_endpoints.begin_delete("scoring").result()
    ml.compute.begin_delete("cpu-cluster").result()
    assert list(ml.compute.list()) == list(ml.batch_endpoints.list()) == []


def test_an_endpoint_is_created_shown_listed_and_changed() -> None:
    ml = with_deployment().ml
    endpoint = ml.batch_endpoints.get("scoring")
    endpoint.defaults = {"deployment_name": "blue"}
    endpoint.tags = {"a": "b"}
    ml.batch_endpoints.begin_create_or_update(endpoint).result()
    got = ml.batch_endpoints.get("scoring")
    assert (got.defaults.deployment_name, got.tags["a"], got.auth_mode) == (
        "blue",
        "b",
        "aad_token",
    )
    assert [each.name for each in ml.batch_endpoints.list()] == ["scoring"]


def test_a_deployment_comes_back_as_it_was_sent() -> None:
    from azure.ai.ml.entities import BatchRetrySettings

    ml = with_endpoint().ml
    sent = deployment(
        mini_batch_size=2,
        max_concurrency_per_instance=2,
        retry_settings=BatchRetrySettings(max_retries=3, timeout=300),
        environment_variables={"A": "1"},
        instance_count=2,
    )
    ml.batch_deployments.begin_create_or_update(sent).result()
    got = ml.batch_deployments.get("blue", "scoring")
    assert (got.mini_batch_size, got.max_concurrency_per_instance) == (2, 2)
    assert (got.retry_settings.timeout, got.environment_variables) == (300, {"A": "1"})
    assert got.model.endswith("/models/heart/versions/1")
    assert [each.name for each in ml.batch_deployments.list("scoring")] == ["blue"]


def test_the_latest_model_is_the_one_created_last() -> None:
    ml = with_endpoint().ml
    ml.models.create_or_update(model(version="7"))
    ml.batch_deployments.begin_create_or_update(deployment(model="heart@latest")).result()
    assert ml.batch_deployments.get("blue", "scoring").model.endswith("/versions/7")


def test_an_inline_environment_and_a_code_folder_become_assets_once(tmp_path: Path) -> None:
    from azure.ai.ml.entities import CodeConfiguration

    (tmp_path / "score.py").write_text("def init(): ...\ndef run(mini_batch): return mini_batch\n")
    here = with_endpoint()
    codes = []
    for name in ("blue", "green"):
        code = CodeConfiguration(code=str(tmp_path), scoring_script="score.py")
        inline = environment(None, conda_file={"dependencies": ["python"]})
        sent = deployment(name, code_configuration=code, environment=inline)
        here.ml.batch_deployments.begin_create_or_update(sent).result()
        codes.append(here.ml.batch_deployments.get(name, "scoring").code_configuration.code)
    assert codes[0] == codes[1]
    assert here.asked.count("POST startPendingUpload") == 1


def test_a_pipeline_component_is_deployed() -> None:
    from azure.ai.ml import load_component
    from azure.ai.ml.entities import PipelineComponentBatchDeployment

    here = with_endpoint()
    source = SAMPLES / "pipeline-batch" / "pipeline"
    file = next(source.glob("*.yml"))
    component = here.ml.components.create_or_update(load_component(file))
    sent = PipelineComponentBatchDeployment(
        name="pipe",
        endpoint_name="scoring",
        component=component,
        settings={"default_compute": "cpu-cluster"},
    )
    here.ml.batch_deployments.begin_create_or_update(sent).result()
    got = here.ml.batch_deployments.get("pipe", "scoring")
    assert got.properties["deployment_configuration_type"] == "PipelineComponent"


def test_an_endpoint_is_invoked_and_its_jobs_are_listed() -> None:
    from azure.ai.ml import Input

    ml = with_deployment().ml
    data = Input(path="https://example.org/data", type="uri_folder")
    job = ml.batch_endpoints.invoke("scoring", deployment_name="blue", input=data)
    assert [each.name for each in ml.batch_endpoints.list_jobs("scoring")] == [job.name]
    assert [each.name for each in ml.batch_deployments.list_jobs("scoring", name="blue")] == [
        job.name
    ]


def test_models_count_their_versions() -> None:
    ml = sdk().ml
    assert [ml.models.create_or_update(model()).version for _ in range(2)] == ["1", "2"]
    assert ml.models.get("heart", label="latest").version == "2"
    assert [each.name for each in ml.models.list()] == ["heart"]
    assert {each.version for each in ml.models.list(name="heart")} == {"1", "2"}


def test_a_model_is_archived_and_restored() -> None:
    ml = sdk().ml
    ml.models.create_or_update(model(version="1"))
    ml.models.archive("heart")
    assert list(ml.models.list()) == []
    ml.models.restore("heart")
    ml.models.archive("heart", version="1")
    assert [each.name for each in ml.models.list()] == ["heart"]
    assert list(ml.models.list(name="heart")) == []


def test_a_local_model_is_uploaded_and_downloaded(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "weights.bin").write_bytes(b"0123456789" * 1000)
    here = sdk()
    made = here.ml.models.create_or_update(model(path=str(tmp_path / "m"), version="1"))
    here.ml.models.download("heart", "1", download_path=str(tmp_path / "down"))
    assert made.path.startswith("azureml://subscriptions/")
    down = tmp_path / "down" / "heart" / "m" / "weights.bin"
    assert down.read_bytes() == b"0123456789" * 1000


def test_environments_are_kept_as_models_are() -> None:
    ml = sdk().ml
    ml.environments.create_or_update(environment(version="1", conda_file={"dependencies": ["a"]}))
    assert ml.environments.get("env", label="latest").image == "busybox"
    assert [each.name for each in ml.environments.list()] == ["env"]
    assert [each.version for each in ml.environments.list(name="env")] == ["1"]


def test_datastores_are_shown_with_what_opens_them() -> None:
    ml = sdk().ml
    assert ml.datastores.get_default().name == "workspaceblobstore"
    assert len(list(ml.datastores.list())) == 4
    assert ml.datastores.get("workspaceblobstore", include_secrets=True).credentials is not None


def test_an_asset_of_a_registry_may_be_named() -> None:
    ml = with_endpoint().ml
    uri = "azureml://registries/r/models/m/versions/1"
    ml.batch_deployments.begin_create_or_update(deployment(model=uri)).result()
    assert ml.batch_deployments.get("blue", "scoring").model == uri


def test_the_assets_of_a_registry_are_read() -> None:
    ml = registry_client(sdk().world.emulator, "azureml")
    assert ml.models.get("t5-base", label="latest").version == "7"
    shown = ml.models.get("t5-base", version="2")
    assert shown.id == "azureml://registries/azureml/models/t5-base/versions/2"
    assert "Phi-4" in {one.name for one in ml.models.list()}
    assert [one.version for one in ml.environments.list(name="sklearn-1.5")] == ["28"]
    environment = ml.environments.get("sklearn-1.5", label="latest")
    assert environment.image == "mcr.microsoft.com/azureml/curated/sklearn-1.5:28"
    assert ml.data.get("mine", version="1").path.startswith("azureml://registries/azureml/data/")
    component = ml.components.get("rai_tabular_causal", label="latest")
    assert (component.name, component.version) == ("rai_tabular_causal", "1")
    names = {one.name for one in ml.components.list()}
    assert "summarization_pipeline" in names


def test_each_kind_of_asset_is_written_to_a_registry_and_read(tmp_path: Path) -> None:
    from azure.ai.ml import load_component
    from azure.ai.ml.entities import Data, Environment, Model

    (tmp_path / "score.py").write_text("print(1)")
    ml = registry_client(sdk().world.emulator, "ours")
    at = "azureml://registries/ours"
    ml.environments.create_or_update(Environment(name="env", version="1", image="busybox"))
    assert ml.environments.get("env", version="1").image == "busybox"
    made = ml.models.create_or_update(Model(name="m", version="2", path=str(tmp_path)))
    assert made.id == f"{at}/models/m/versions/2"
    assert ml.models.get("m", label="latest").version == "2"
    assert [model.version for model in ml.models.list(name="m")] == ["2"]
    data = Data(name="d", version="1", path=str(tmp_path / "score.py"), type="uri_file")
    assert ml.data.create_or_update(data).id == f"{at}/data/d/versions/1"
    assert ml.data.get("d", version="1").type == "uri_file"
    environment = f"{at}/environments/env/versions/1"
    written = {"name": "c", "version": "1", "type": "command", "command": "python score.py"}
    written |= {"code": ".", "environment": environment}
    (tmp_path / "c.yml").write_text(json.dumps(written))
    component = load_component(str(tmp_path / "c.yml"))
    assert ml.components.create_or_update(component).id == f"{at}/components/c/versions/1"
    shown = ml.components.get("c", version="1")
    assert shown.environment == environment
    assert [model.name for model in ml.models.list()] == ["m"]


def test_a_registry_is_made_and_a_model_is_shared_with_it() -> None:
    from azure.ai.ml.entities import Registry, RegistryRegionDetails

    ml = sdk().ml
    regions = [RegistryRegionDetails(location="westus")]
    ml.registries.begin_create(
        Registry(name="ours", location="westus", tags={"a": "b"}, replication_locations=regions)
    ).result()
    shown = ml.registries.get("ours")
    assert (shown.location, shown.tags) == ("westus", {"a": "b"})
    assert [registry.name for registry in ml.registries.list()] == ["ours"]
    ml.models.create_or_update(model(version="1"))
    more = {"share_with_name": "shared", "share_with_version": "7", "registry_name": "ours"}
    assert ml.models.share("heart", "1", **more).id.endswith("ours/models/shared/versions/7")


def test_a_throttled_request_is_asked_again() -> None:
    here = sdk()
    here.fault(trouble="refuse", status=429, retry_after="ms", seconds=0.01, times=2)
    here.ml.compute.begin_create_or_update(cluster(location="eastus")).result()
    assert here.asked[:3] == ["PUT cpu-cluster"] * 3


def test_a_lost_connection_is_asked_again() -> None:
    here = sdk()
    here.fault(trouble="hang-up", method="GET", path="*/computes")
    assert list(here.ml.compute.list()) == []


def test_a_failed_operation_raises_what_the_service_said() -> None:
    from azure.core.exceptions import HttpResponseError

    here = sdk()
    here.fault(trouble="fail-operation", operation="put", code="AllocationFailed", message="no VMs")
    with pytest.raises(HttpResponseError, match="no VMs") as raised:
        here.ml.compute.begin_create_or_update(cluster()).result()
    error: Any = raised.value
    assert error.error.code == "AllocationFailed"


def test_a_refusal_carries_the_services_code_and_request_id() -> None:
    from azure.core.exceptions import HttpResponseError

    here = sdk()
    with pytest.raises(HttpResponseError) as raised:
        here.ml.compute.begin_create_or_update(cluster(size="Standard_NC6")).result()
    error: Any = raised.value
    assert (error.status_code, error.error.code) == (400, "VMSizeNotSupported")
    assert error.response.headers["x-ms-request-id"]


def test_a_lock_is_a_conflict() -> None:
    from azure.core.exceptions import ResourceExistsError

    here = sdk()
    here.ml.compute.begin_create_or_update(cluster()).result()
    lock = "/subscriptions/{}/resourceGroups/rg/providers/Microsoft.Authorization/locks/keep"
    where = lock.format(here.ml.subscription_id)
    here.world.put(where, {"properties": {"level": "CanNotDelete"}})
    with pytest.raises(ResourceExistsError, match="remove the lock"):
        here.ml.compute.begin_delete("cpu-cluster")


@pytest.mark.slow
def test_a_training_job_runs_to_its_end_and_is_found_in_every_list() -> None:
    from azure.ai.ml import command

    here = sdk()
    here.ml.compute.begin_create_or_update(cluster()).result()
    asked = command(command="echo 1", environment=environment(None), compute="cpu-cluster")
    made = here.ml.jobs.create_or_update(asked)
    seen = {here.ml.jobs.get(made.name).status for _ in range(200)}
    assert seen == {"Queued", "Running", "Completed"}
    assert [each.name for each in here.ml.jobs.list()] == [made.name]


def test_a_training_job_is_cancelled() -> None:
    from azure.ai.ml import command

    here = sdk()
    here.ml.compute.begin_create_or_update(cluster()).result()
    asked = command(command="echo 1", environment=environment(None), compute="cpu-cluster")
    made = here.ml.jobs.create_or_update(asked)
    here.ml.jobs.begin_cancel(made.name).result()
    assert here.ml.jobs.get(made.name).status == "Canceled"


@pytest.mark.slow
def test_the_log_of_a_training_job_is_streamed_to_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from azure.ai.ml import command

    monkeypatch.setattr("time.sleep", lambda _: None)
    ml = sdk().ml
    ml.compute.begin_create_or_update(cluster()).result()
    asked = command(command="echo 1", environment=environment(None), compute="cpu-cluster")
    ml.jobs.stream(ml.jobs.create_or_update(asked).name)
    printed = capsys.readouterr().out
    assert "Streaming user_logs/std_log.txt" in printed
    assert [printed.count(f": step {step}\n") for step in (1, 50, 100)] == [1, 1, 1]


def test_a_batch_job_is_shown_and_streamed_as_the_pipeline_job_that_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from azure.ai.ml import Input

    monkeypatch.setattr("time.sleep", lambda _: None)
    ml = with_deployment().ml
    data = Input(path="https://example.org/data", type="uri_folder")
    job = ml.batch_endpoints.invoke("scoring", deployment_name="blue", input=data)
    ml.jobs.stream(job.name)
    assert (ml.jobs.get(job.name).type, ml.jobs.get(job.name).status) == ("pipeline", "Completed")
    assert "mini-batches completed: " in capsys.readouterr().out


def test_what_a_job_leaves_behind_is_downloaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from azure.ai.ml import Input

    monkeypatch.setattr("time.sleep", lambda _: None)
    ml = with_deployment().ml
    data = Input(path="https://example.org/data", type="uri_folder")
    job = ml.batch_endpoints.invoke("scoring", deployment_name="blue", input=data)
    ml.jobs.stream(job.name)
    ml.jobs.download(job.name, download_path=tmp_path, all=True)
    ml.jobs.download(job.name, download_path=tmp_path / "one", output_name="score")
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    # Of a job of an endpoint the SDK downloads the scores, and nothing else.
    assert found == {"predictions.csv", "one/predictions.csv"}


def test_data_is_made_read_listed_and_archived(tmp_path: Path) -> None:
    from azure.ai.ml.entities import Data

    here = sdk()
    (tmp_path / "patients.csv").write_text("age\n63\n")
    local = Data(name="patients", version="1", type="uri_file", path=str(tmp_path / "patients.csv"))
    made = here.ml.data.create_or_update(local)
    assert (made.name, made.version, made.type) == ("patients", "1", "uri_file")
    assert made.path.endswith("/patients.csv")
    next_one = here.ml.data.create_or_update(Data(name="patients", path="https://host/all/"))
    assert (next_one.version, next_one.type) == ("2", "uri_folder")
    assert here.ml.data.get("patients", label="latest").version == "2"
    assert {one.version for one in here.ml.data.list("patients")} == {"1", "2"}
    assert [one.name for one in here.ml.data.list()] == ["patients"]
    here.ml.data.archive("patients", version="2")
    assert {one.version for one in here.ml.data.list("patients")} == {"1"}
    here.ml.data.restore("patients", version="2")
    assert here.ml.data.get("patients", version="2").path == "https://host/all/"

"""The calls that the batch notebooks of Azure/azureml-examples (MIT) make, in their order.

Source: sdk/python/endpoints/batch, as it stood in November 2026. The unmodified SDK runs on the
emulator; what the notebooks do beside it (plots, downloads of models) is left out.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.builders.sdk import lead_here, registry_client, sdk

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("azure") is None, reason="the azure extra is not installed"),
]
CONDA = "channels: [conda-forge]\ndependencies: [python=3.10, pip]\n"


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from azure.ai.ml.constants._endpoint import EndpointInvokeFields

    lead_here(monkeypatch)
    monkeypatch.chdir(tmp_path)
    usual = {**EndpointInvokeFields.DEFAULT_HEADER}  # the SDK writes the deployment into it
    monkeypatch.setattr(EndpointInvokeFields, "DEFAULT_HEADER", usual)


def folder(path: str, **files: str) -> str:
    """A folder with these files: `score_py` is `score.py`."""
    for name, text in files.items():
        file = Path(path, name.replace("_", ".", 1))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return path


def endpoint_and_cluster(ml: Any, name: str) -> Any:
    """The endpoint, and the cluster where there is none yet."""
    from azure.ai.ml.entities import AmlCompute, BatchEndpoint

    endpoint = BatchEndpoint(name=name, description="a batch endpoint", tags={"type": "deep"})
    ml.begin_create_or_update(endpoint).result()
    if not any(one.name == "batch-cluster" for one in ml.compute.list()):
        cluster = AmlCompute(name="batch-cluster", min_instances=0, max_instances=5)
        ml.begin_create_or_update(cluster).result()
    assert ml.compute.get(name="batch-cluster").provisioning_state != "Creating"
    return ml.batch_endpoints.get(name)


def made_default(ml: Any, endpoint_name: str, deployment: Any) -> Any:
    """Create a deployment, and make it the default one by what was read of the endpoint."""
    ml.batch_deployments.begin_create_or_update(deployment).result()
    endpoint = ml.batch_endpoints.get(endpoint_name)
    endpoint.defaults.deployment_name = deployment.name
    ml.batch_endpoints.begin_create_or_update(endpoint).result()
    assert ml.batch_endpoints.get(endpoint_name).defaults.deployment_name == deployment.name
    return endpoint


def settings() -> Any:
    from azure.ai.ml.constants import BatchDeploymentOutputAction
    from azure.ai.ml.entities import BatchRetrySettings, ModelBatchDeploymentSettings

    return ModelBatchDeploymentSettings(
        instance_count=2,
        max_concurrency_per_instance=2,
        mini_batch_size=10,
        output_action=BatchDeploymentOutputAction.APPEND_ROW,
        output_file_name="predictions.csv",
        retry_settings=BatchRetrySettings(max_retries=3, timeout=300),
        logging_level="info",
    )


def scored(ml: Any, job: Any) -> None:
    """Wait for a job of an endpoint, and download what its child has scored."""
    ml.jobs.get(job.name)
    ml.jobs.stream(job.name)
    scoring_job = list(ml.jobs.list(parent_job_name=job.name))[0]  # noqa: RUF015  # as they have it
    assert scoring_job.status == "Completed"
    took = scoring_job.creation_context.last_modified_at - scoring_job.creation_context.created_at
    assert took.total_seconds() >= 0
    ml.jobs.download(name=scoring_job.name, download_path=".", output_name="score")
    assert Path("named-outputs/score/predictions.csv").is_file()


def test_an_mlflow_model_is_deployed_and_scores_a_data_asset() -> None:
    from azure.ai.ml import Input
    from azure.ai.ml.constants import AssetTypes
    from azure.ai.ml.entities import (
        CodeConfiguration,
        Data,
        Environment,
        Model,
        ModelBatchDeployment,
    )

    ml = sdk().ml
    path = folder("model", MLmodel="flavors: {}\n")
    name = "heart-classifier-mlflow"
    ml.models.create_or_update(Model(name=name, path=path, type=AssetTypes.MLFLOW_MODEL))
    model = ml.models.get(name=name, label="latest")
    endpoint = endpoint_and_cluster(ml, "heart-classifier-x1")
    deployment = ModelBatchDeployment(
        name="classifier-xgboost",
        endpoint_name=endpoint.name,
        model=model,
        compute="batch-cluster",
        settings=settings(),
    )
    endpoint = made_default(ml, endpoint.name, deployment)
    asset = "heart-dataset-unlabeled"
    data = Data(path=folder("data", one_csv="1\n"), type=AssetTypes.URI_FOLDER, name=asset)
    ml.data.create_or_update(data)
    data = ml.data.get(name=asset, label="latest")
    given = Input(type=AssetTypes.URI_FOLDER, path=data.id)
    ml.batch_endpoints.invoke(endpoint_name=endpoint.name, input=given)
    job = ml.batch_endpoints.invoke(
        deployment_name=deployment.name, endpoint_name=endpoint.name, input=given
    )
    scored(ml, job)
    custom = ModelBatchDeployment(
        name="classifier-xgboost-custom",
        endpoint_name=endpoint.name,
        model=model,
        environment=Environment(
            name="batch-mlflow-xgboost",
            conda_file=f"{folder('environment', conda_yaml=CONDA)}/conda.yaml",
            image="mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu20.04:latest",
        ),
        code_configuration=CodeConfiguration(
            code=folder("code", driver_py="def init(): ...\ndef run(batch): ...\n"),
            scoring_script="driver.py",
        ),
        compute="batch-cluster",
        settings=settings(),
    )
    ml.batch_deployments.begin_create_or_update(custom).result()
    jobs = [one.name for one in ml.jobs.list() if one.experiment_name == endpoint.name]
    assert job.name in jobs
    ml.batch_endpoints.begin_delete(endpoint.name).result()


def test_a_local_folder_is_scored_with_settings_of_the_invocation() -> None:
    from azure.ai.ml import Input
    from azure.ai.ml.constants import AssetTypes
    from azure.ai.ml.entities import CodeConfiguration, Environment, Model, ModelBatchDeployment

    ml = sdk().ml
    path = folder("deployment-torch/model", net_pt="weights")
    named = Model(name="torch", path=path, type=AssetTypes.CUSTOM_MODEL, tags={"task": "images"})
    ml.models.create_or_update(named)
    endpoint = endpoint_and_cluster(ml, "mnist-batch-x1")
    deployment = ModelBatchDeployment(
        name="mnist-torch-dpl",
        endpoint_name=endpoint.name,
        model=ml.models.get(name="torch", label="latest"),
        code_configuration=CodeConfiguration(
            code=folder("deployment-torch/code", driver_py="def init(): ...\ndef run(b): ...\n"),
            scoring_script="driver.py",
        ),
        environment=Environment(
            name="batch-torch-py38",
            conda_file=f"{folder('deployment-torch/env', conda_yaml=CONDA)}/conda.yaml",
            image="mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04:latest",
        ),
        compute="batch-cluster",
        settings=settings(),
    )
    made_default(ml, endpoint.name, deployment)
    assert ml.batch_deployments.get(name=deployment.name, endpoint_name=endpoint.name)
    images: Any = Path(folder("data", a_png="a", b_png="b"))
    job = ml.batch_endpoints.invoke(
        endpoint_name=endpoint.name,
        deployment_name=deployment.name,
        input=Input(path=images, type=AssetTypes.URI_FOLDER),
    )
    scored(ml, job)
    store = ml.datastores.get_default()
    ml.batch_endpoints.invoke(
        endpoint_name=endpoint.name,
        input=Input(path=images, type=AssetTypes.URI_FOLDER),
        params_override=[
            {"output_dataset.datastore_id": f"azureml:{store.id}"},
            {"output_dataset.path": f"/{endpoint.name}/"},
            {"output_file_name": "predictions-7.csv"},
        ],
    )
    ml.batch_endpoints.invoke(
        endpoint_name=endpoint.name,
        input=Input(path="./data"),
        params_override=[{"mini_batch_size": "20"}, {"compute.instance_count": "5"}],
    )
    ml.batch_endpoints.begin_delete(name=endpoint.name).result()


HELLO = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineComponent.schema.json
name: hello_batch
display_name: Hello Batch component
version: 1
type: pipeline
jobs:
  main_job:
    type: command
    component:
      code: src
      environment: azureml://registries/azureml/environments/sklearn-1.5/labels/latest
      command: python hello.py
"""
STEP = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandComponent.schema.json
name: {name}
type: command
inputs: {inputs}
outputs:
  {output}: {{type: uri_folder}}
code: src
environment: azureml:xgboost-sklearn-py38@latest
command: python {name}.py {given}
"""


def deployed(ml: Any, endpoint: Any, component: Any, name: str) -> Any:
    """A deployment of a pipeline, the default one; the endpoint as it was read."""
    from azure.ai.ml.entities import PipelineComponentBatchDeployment

    given: Any = {"continue_on_step_failure": False, "default_compute": "batch-cluster"}
    deployment = PipelineComponentBatchDeployment(
        name=name, endpoint_name=endpoint.name, component=component, settings=given
    )
    return made_default(ml, endpoint.name, deployment)


def test_a_component_of_a_registry_is_deployed_by_its_id() -> None:
    from azure.ai.ml.entities import BatchEndpoint

    here = sdk()
    registry = registry_client(here.world.emulator, "azureml")
    component = registry.components.get(name="model_evaluation_pipeline", version="1")
    endpoint_and_cluster(here.ml, "other-x1")
    properties: Any = {"ComponentDeployment.Enabled": True}
    endpoint = BatchEndpoint(name="registry-pipeline-batch", properties=properties)
    here.ml.batch_endpoints.begin_create_or_update(endpoint).result()
    deployed(here.ml, endpoint, component.id, "registry-pipeline-deployment")
    job = here.ml.batch_endpoints.invoke(endpoint_name=endpoint.name)
    assert here.ml.jobs.get(job.name).name == job.name


def test_a_pipeline_component_is_deployed_and_run() -> None:
    from azure.ai.ml import load_component

    ml = sdk().ml
    folder("hello-component/src", hello_py="print('hello')\n")
    source = f"{folder('hello-component', hello_yml=HELLO)}/hello.yml"
    component = load_component(source=source)
    ml.components.create_or_update(component)
    endpoint = endpoint_and_cluster(ml, "hello-batch-x1")
    deployed(ml, endpoint, component, "hello-batch-dpl")
    job = ml.batch_endpoints.invoke(endpoint_name=endpoint.name)
    ml.jobs.get(job.name)
    ml.jobs.stream(name=job.name)
    children = list(ml.jobs.list(parent_job_name=job.name))
    assert [one.status for one in children] == ["Completed"]
    ml.batch_endpoints.begin_delete(endpoint.name).result()


@pytest.mark.slow
def test_a_pipeline_of_functions_is_run_registered_and_deployed() -> None:
    from azure.ai.ml import Input, dsl, load_component
    from azure.ai.ml.constants import AssetTypes
    from azure.ai.ml.entities import Environment, Model

    ml = sdk().ml
    environment = Environment(
        name="xgboost-sklearn-py38",
        image="mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04:latest",
        conda_file=f"{folder('environment', conda_yml=CONDA)}/conda.yml",
    )
    ml.environments.create_or_update(environment)
    endpoint = endpoint_and_cluster(ml, "uci-classifier-x1")
    path = folder("model", MLmodel="flavors: {}\n")
    named = Model(name="heart-classifier", path=path, type=AssetTypes.MLFLOW_MODEL)
    model = ml.models.create_or_update(named)
    folder("src", prepare_py="pass\n", score_py="pass\n")
    prepare = "${{inputs.data}} ${{inputs.transformations}} ${{outputs.prepared_data}}"
    inputs = "{data: {type: uri_folder}, transformations: {type: custom_model, optional: false}}"
    text = STEP.format(name="prepare", inputs=inputs, output="prepared_data", given=prepare)
    prepare_data = load_component(source=f"{folder('.', prepare_yml=text)}/prepare.yml")
    ml.components.create_or_update(prepare_data)
    made = Model(
        name="transforms", path=folder("transforms", t_pkl="x"), type=AssetTypes.CUSTOM_MODEL
    )
    transforms = ml.models.create_or_update(made)
    given = "${{inputs.data}} ${{inputs.model}} ${{inputs.score_mode}} ${{outputs.scores}}"
    inputs = "{data: {type: uri_folder}, model: {type: mlflow_model}, score_mode: {type: string}}"
    text = STEP.format(name="score", inputs=inputs, output="scores", given=given)
    prepare_data = ml.components.get("prepare", label="latest")
    score_data = load_component(source=f"{folder('.', score_yml=text)}/score.yml")

    def uci_heart_scorer(input_data: Any, score_mode: Any) -> Any:
        prepared = prepare_data(
            data=input_data,
            transformations=Input(type=AssetTypes.CUSTOM_MODEL, path=transforms.id),
        )
        scored = score_data(
            data=prepared.outputs.prepared_data,
            model=Input(type=AssetTypes.MLFLOW_MODEL, path=model.id),
            score_mode=score_mode,
        )
        return {"scores": scored.outputs.scores}

    types = {"input_data": Input(type=AssetTypes.URI_FOLDER), "score_mode": str}
    uci_heart_scorer.__annotations__ = types
    scorer: Any = dsl.pipeline(uci_heart_scorer)
    data = Input(type="uri_folder", path=folder("data/unlabeled", a_csv="1\n"))
    job = scorer(input_data=data, score_mode="append")
    job.settings.default_datastore = "workspaceblobstore"
    job.settings.default_compute = "batch-cluster"
    run = ml.jobs.create_or_update(job, experiment_name="uci-heart-score-pipeline")
    assert run.experiment_name == "uci-heart-score-pipeline"
    component = ml.components.create_or_update(scorer().component)
    endpoint = deployed(ml, endpoint, component, "uci-classifier-prepros")
    mode = Input(type="string", default="append")
    asked = ml.batch_endpoints.invoke(
        endpoint_name=endpoint.name, inputs={"input_data": data, "score_mode": mode}
    )
    ml.jobs.stream(name=asked.name)
    steps = {
        step.properties["azureml.moduleName"]: step.status
        for step in ml.jobs.list(parent_job_name=asked.name)
    }
    assert steps == {"prepare": "Completed", "score": "Completed"}
    ml.batch_endpoints.begin_delete(endpoint.name).result()

"""Files of ten kinds, which refer to each other."""

from __future__ import annotations

from pathlib import Path

_SCHEMA = "$schema: https://azuremlschemas.azureedge.net/latest/{schema}.schema.json\n"
_FILES = {
    "amlCompute": "name: c{n}x\ntype: amlcompute\nsize: Standard_D4ds_v5\nmax_instances: 4\n",
    "batchEndpoint": "name: endpoint-{n}\nauth_mode: aad_token\n",
    "modelBatchDeployment": """\
name: d{n}
endpoint_name: endpoint-{endpoint}
type: model
model: azureml:m{n}:1
compute: azureml:c{n}x
resources: {{instance_count: 1}}
settings: {{mini_batch_size: 10}}
""",
    "model": """\
name: m{n}
version: 1
type: mlflow_model
path: azureml://datastores/workspaceblobstore/paths/m{n}
""",
    "environment": "name: e{n}\nimage: mcr.microsoft.com/azureml/openmpi4.1.0-ubuntu22.04\n",
    "data": "name: d{n}\ntype: uri_folder\npath: azureml://datastores/workspaceblobstore/paths/d\n",
    "commandComponent": """\
name: train_{n}
version: 1
type: command
command: python train.py --data ${{{{inputs.data}}}} --model ${{{{outputs.model}}}}
environment: azureml:e{n}@latest
inputs:
  data: {{type: uri_folder}}
  rate: {{type: number, default: 0.1}}
outputs:
  model: {{type: uri_folder}}
""",
    "commandJob": """\
command: python train.py --data ${{{{inputs.data}}}}
environment: azureml:e{n}@latest
compute: azureml:c{n}x
inputs:
  data: {{type: uri_folder, path: "azureml:d{n}@latest"}}
""",
    "pipelineJob": """\
type: pipeline
settings: {{default_compute: "azureml:c{n}x"}}
inputs:
  data: {{type: uri_folder, path: "azureml:d{n}@latest"}}
jobs:
  first:
    component: azureml:train_{n}:1
    inputs:
      data: ${{{{parent.inputs.data}}}}
  second:
    component: azureml:train_{n}:1
    inputs:
      data: ${{{{parent.jobs.first.outputs.model}}}}
      rate: 0.5
""",
    "sweepJob": """\
type: sweep
trial:
  command: python train.py --rate ${{{{search_space.rate}}}}
  environment: azureml:e{n}@latest
compute: azureml:c{n}x
search_space:
  rate: {{type: uniform, min_value: 0.1, max_value: 1}}
objective: {{goal: minimize, primary_metric: loss}}
limits: {{max_total_trials: 10}}
""",
}


def write(folder: Path, count: int) -> None:
    """As many files, each kind in turn."""
    for number in range(count):
        schema = list(_FILES)[number % len(_FILES)]
        name = f"{number // len(_FILES):05}"
        _write(folder, schema, n=name)


def write_scoring(folder: Path, count: int) -> None:
    """As many files of what scores: 9 in 10 are clusters, models, environments and deployments of
    one to one, the others are the endpoints of these deployments (Azure allows 100)."""
    kinds = ("amlCompute", "model", "modelBatchDeployment", "environment")
    above = count // 10
    for number in range(above):
        _write(folder, "batchEndpoint", n=f"{number:05}")
    for number in range(count - above):
        own = number // len(kinds)
        names = {"n": f"{own:05}", "endpoint": f"{own % above:05}"}
        _write(folder, kinds[number % len(kinds)], **names)


def _write(folder: Path, schema: str, n: str, endpoint: str = "") -> None:
    text = _SCHEMA.format(schema=schema) + _FILES[schema].format(n=n, endpoint=endpoint or n)
    (folder / f"{schema}-{n}.yml").write_text(text)

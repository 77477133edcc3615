"""Conditions and loops of `dsl.pipeline`: the unmodified azure-ai-ml, with code that runs.

It knows them only where its private features were on when it was imported: in a process of its own.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import shell
from tests.builders.served import COMMAND, serving

pytestmark = pytest.mark.slow

CLIENT = """\
import json, os
from pathlib import Path
from azure.ai.ml import MLClient, dsl
from azure.ai.ml.dsl._condition import condition
from azure.ai.ml.dsl._do_while import do_while
from azure.ai.ml.dsl._parallel_for import parallel_for
from azure.ai.ml.entities import AmlCompute, CommandComponent
from azure.identity import DefaultAzureCredential

scope = ("AZURE_SUBSCRIPTION_ID", "AZURE_DEFAULTS_GROUP", "AZURE_DEFAULTS_WORKSPACE")
ml = MLClient(DefaultAzureCredential(), *(os.environ[name] for name in scope))
ml.compute.begin_create_or_update(AmlCompute(name="cpu", max_instances=2)).result()
NUMBER = {"number": {"type": "integer"}}
FOLDER = {"folder": {"type": "uri_folder"}}

def component(name, command, inputs, outputs):
    environment = "azureml:AzureML-sklearn-1.5@latest"
    made = dict(command=command, environment=environment, inputs=inputs, outputs=outputs)
    return CommandComponent(name=name, version="1", **made)

def flag(name):
    return {name: {"type": "boolean", "is_control": True}}

count = component(
    "count",
    "n=${{inputs.number}}; $[[cp ${{inputs.folder}}/* ${{outputs.folder}};]]"
    " echo $n >> ${{outputs.folder}}/numbers; echo $(( n - 1 )) > ${{outputs.next}};"
    " test $n -gt 1 && echo True > ${{outputs.more}} || echo False > ${{outputs.more}}",
    {**NUMBER, "folder": {"type": "uri_folder", "optional": True}},
    {"next": {"type": "integer", "is_control": True}, **flag("more"), **FOLDER},
)
is_even = component(
    "is_even",
    "n=${{inputs.number}}; x=${{outputs.even}};"
    " test $(( n % 2 )) = 0 && echo true > $x || echo false > $x",
    NUMBER,
    flag("even"),
)
text = {"text": {"type": "string"}}
word = component("word", "echo ${{inputs.text}} > ${{outputs.folder}}/w", text, FOLDER)
square = component(
    "square",
    "n=${{inputs.number}}; echo $(( n * n )) > ${{outputs.folder}}/n",
    NUMBER,
    FOLDER,
)
collect = component(
    "collect",
    "grep -o '/[^\\"]*' ${{inputs.table}}/MLTable | while read folder; do cat $folder/n; done"
    " > ${{outputs.folder}}/n",
    {"table": {"type": "mltable"}},
    FOLDER,
)

@dsl.pipeline
def counting(number: int):
    body = count(number=number)
    do_while(body, {"next": body.inputs.number, "folder": body.inputs.folder}, 5, body.outputs.more)
    return {"last": body.outputs.folder}

@dsl.pipeline
def choosing(number: int):
    even, odd = word(text="even"), word(text="odd")
    condition(is_even(number=number).outputs.even, true_block=even, false_block=odd)
    return {"even": even.outputs.folder, "odd": odd.outputs.folder}

@dsl.pipeline
def squaring():
    loop = parallel_for(body=square(), items=[{"number": 2}, {"number": 3}])
    return {"all": collect(table=loop.outputs.folder).outputs.folder}

def lines(name, pipeline, output):
    pipeline.settings.default_compute = "cpu"
    job = ml.jobs.create_or_update(pipeline)
    ml.jobs.stream(job.name)
    ml.jobs.download(job.name, download_path=name, output_name=output)
    files = sorted(path for path in Path(name).rglob("*") if path.is_file())
    return [line for path in files for line in path.read_text().splitlines()]

left = {
    "counting": lines("counting", counting(number=3), "last"),
    "odd": lines("odd", choosing(number=1), "odd"),
    "even": lines("even", choosing(number=2), "even"),
    "squaring": lines("squaring", squaring(), "all"),
}
Path("lines.json").write_text(json.dumps(left))
"""


def test_conditions_and_loops_of_the_sdk_run_their_code(tmp_path: Path) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    client = (
        f'eval "$({shlex.join(COMMAND)} env)" && {shlex.quote(sys.executable)} -W ignore client.py'
    )
    private = {"AZURE_ML_CLI_PRIVATE_FEATURES_ENABLED": "True"}
    (tmp_path / "client.py").write_text(CLIENT)
    with serving(tmp_path, "--run-code", "--python", sys.executable):
        done = subprocess.run(
            ["/bin/sh", "-c", client],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            env={**shell.environment(tmp_path), **private},
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads((tmp_path / "lines.json").read_text()) == {
        "counting": ["3", "2", "1"],
        "odd": ["odd"],
        "even": ["even"],
        "squaring": ["4", "9"],
    }

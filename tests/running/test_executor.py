"""`mlctl job run` runs the commands of a job in the order of their data, and reuses what it can."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlctl.running import commands
from mlctl.running.commands import lock
from tests.builders.shell import Done, Run, environment

SCHEMAS = "$schema: https://azuremlschemas.azureedge.net/latest"
ECHO = f"""{SCHEMAS}/commandJob.schema.json
command: >-
  echo ${{{{inputs.who}}}} > ${{{{outputs.out}}}}/who.txt
  && cat ${{{{inputs.data}}}}/a.txt >> ${{{{outputs.out}}}}/who.txt
inputs:
  who: world
  data: {{type: uri_folder, path: ./data}}
outputs: {{out: {{type: uri_folder}}}}
environment: azureml:env@latest
compute: azureml:cpu
"""


def written(folder: Path, name: str, text: str) -> Path:
    """A file below the folder."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def pipeline(folder: Path, steps: dict[str, dict[str, Any]], **more: Any) -> None:
    """`pipeline.yml`; JSON is YAML."""
    for step in steps.values():
        step.setdefault("type", "command")
        step.setdefault("environment", "azureml:env@latest")
    document = {
        "$schema": SCHEMAS.removeprefix("$schema: ") + "/pipelineJob.schema.json",
        "type": "pipeline",
        "settings": {"default_compute": "azureml:cpu", **more.pop("settings", {})},
        "jobs": steps,
        **more,
    }
    written(folder, "pipeline.yml", json.dumps(document))


def of_step(step: str, output: str = "out") -> str:
    """The expression for an output of a step."""
    return f"${{{{parent.jobs.{step}.outputs.{output}}}}}"


def result(done: Done) -> dict[str, Any]:
    """What `--json` wrote."""
    loaded: dict[str, Any] = json.loads(done.out)
    return loaded


def test_a_command_gets_its_inputs_and_leaves_its_outputs(mlctl: Run, tmp_path: Path) -> None:
    written(tmp_path, "job.yml", ECHO)
    written(tmp_path, "data/a.txt", "from a file\n")
    done = mlctl("job", "run", "job.yml", "--keep", "kept")
    assert done.code == 0, done.err
    assert (tmp_path / "kept/outputs/out/who.txt").read_text() == "world\nfrom a file\n"
    more = written(tmp_path, "more/a.txt", "more\n")
    typed = ["--input", "who=you", "--input", f"data={more.parent}"]
    assert mlctl("job", "run", "job.yml", "--keep", "kept", *typed).code == 0
    assert (tmp_path / "kept/outputs/out/who.txt").read_text() == "you\nmore\n"


def test_the_user_s_data_and_code_are_not_what_a_command_writes_to(
    mlctl: Run, tmp_path: Path
) -> None:
    text = ECHO.replace("command: >-", "code: ./src\ncommand: >-\n  echo x > own.txt &&")
    written(tmp_path, "job.yml", text + "environment_variables: {A: b}\n")
    data, code = written(tmp_path, "data/a.txt", "a\n"), written(tmp_path, "src/own.txt", "o\n")
    written(tmp_path, "src/.amlignore", "big.bin\n")
    written(tmp_path, "src/big.bin", "big")
    assert mlctl("job", "run", "job.yml", "--keep", "kept").code == 0
    assert (data.read_text(), code.read_text()) == ("a\n", "o\n")
    assert not (tmp_path / "kept/job/code/big.bin").exists()


def test_steps_run_in_the_order_of_their_data_and_only_what_needs_a_failure_stops(
    mlctl: Run, tmp_path: Path
) -> None:
    outputs = {"out": {"type": "uri_folder"}}
    pipeline(
        tmp_path,
        {
            "last": {
                "command": "cat ${{inputs.a}}/x > ${{outputs.out}}/x",
                "inputs": {"a": of_step("first")},
                "outputs": outputs,
            },
            "first": {"command": "echo 1 > ${{outputs.out}}/x", "outputs": outputs},
            "bad": {"command": "echo lost; exit 3", "outputs": outputs},
            "after": {"command": "true ${{inputs.a}}", "inputs": {"a": of_step("bad")}},
        },
    )
    done = mlctl("job", "run", "pipeline.yml", "--json", "--keep", "kept")
    assert done.code == 1
    statuses = {step["name"]: step["status"] for step in result(done)["steps"]}
    assert statuses == {
        "last": "Completed",
        "first": "Completed",
        "bad": "Failed",
        "after": "NotStarted",
    }
    assert (tmp_path / "kept/last/outputs/out/x").read_text() == "1\n"
    said = mlctl("job", "run", "pipeline.yml", "--keep", "kept").err
    assert "ERROR: bad (pipeline.yml:1): it ended with exit code 3" in said
    assert "| lost" in said
    assert "--only bad" in said


def test_what_has_not_changed_is_not_run_again(mlctl: Run, tmp_path: Path) -> None:
    written(tmp_path, "count.txt", "")
    count = shlex.quote(str(tmp_path / "count.txt"))

    def steps(second: str) -> dict[str, dict[str, Any]]:
        return {
            "first": {
                "command": f"echo first >> {count}; echo 1 > ${{{{outputs.out}}}}/x",
                "outputs": {"out": {"type": "uri_folder"}},
            },
            "second": {
                "command": f"echo {second} >> {count}; cat ${{{{inputs.a}}}}/x",
                "inputs": {"a": of_step("first")},
            },
        }

    pipeline(tmp_path, steps("second"))
    assert mlctl("job", "run", "pipeline.yml").code == 0
    assert mlctl("job", "run", "pipeline.yml").code == 0
    pipeline(tmp_path, steps("changed"))
    assert mlctl("job", "run", "pipeline.yml").code == 0
    assert mlctl("job", "run", "pipeline.yml", "--only", "second").code == 0
    words = (tmp_path / "count.txt").read_text().split()
    assert words == ["first", "second", "changed", "changed"]
    assert mlctl("job", "run", "pipeline.yml", "--fresh").code == 0
    assert (tmp_path / "count.txt").read_text().split()[-2:] == ["first", "changed"]


def test_components_and_pipelines_within_pipelines_have_their_inputs_and_defaults(
    mlctl: Run, tmp_path: Path
) -> None:
    written(
        tmp_path,
        "add.yml",
        f"""{SCHEMAS}/commandComponent.schema.json
name: add
type: command
inputs:
  a: {{type: integer}}
  b: {{type: integer, default: 5}}
  c: {{type: string, optional: true}}
outputs: {{sum: {{type: uri_file}}}}
environment: azureml:env@latest
command: >-
  expr ${{{{inputs.a}}}} + ${{{{inputs.b}}}} > ${{{{outputs.sum}}}} $[[&& echo ${{{{inputs.c}}}}]]
""",
    )
    written(
        tmp_path,
        "twice.yml",
        f"""{SCHEMAS}/pipelineComponent.schema.json
name: twice
type: pipeline
inputs: {{n: {{type: integer}}}}
outputs: {{result: {{type: uri_file}}}}
jobs:
  inner:
    type: command
    component: ./add.yml
    inputs: {{a: "${{{{parent.inputs.n}}}}"}}
    outputs: {{sum: "${{{{parent.outputs.result}}}}"}}
""",
    )
    pipeline(
        tmp_path,
        {
            "outer": {
                "type": "pipeline",
                "component": "./twice.yml",
                "inputs": {"n": "${{parent.inputs.start}}"},
            },
            "show": {
                "command": "cat ${{inputs.x}} > ${{outputs.out}}/shown",
                "inputs": {"x": of_step("outer", "result")},
                "outputs": {"out": "${{parent.outputs.all}}"},
            },
        },
        inputs={"start": 2},
        outputs={"all": {"type": "uri_folder"}},
    )
    pipeline_file = tmp_path / "pipeline.yml"
    document = json.loads(pipeline_file.read_text())
    del document["jobs"]["outer"]["environment"]
    pipeline_file.write_text(json.dumps(document))
    done = mlctl("job", "run", "pipeline.yml", "--keep", "kept")
    assert done.code == 0, done.err
    assert (tmp_path / "kept/outputs/all/shown").read_text() == "7\n"
    assert mlctl("job", "run", "pipeline.yml", "--keep", "kept", "--input", "start=30").code == 0
    assert (tmp_path / "kept/outputs/all/shown").read_text() == "35\n"


TRAIN = """\
import sys, pathlib
rate = float(sys.argv[1])
run = pathlib.Path(sys.argv[2], "0", "run", "metrics")
run.mkdir(parents=True)
(run / "loss").write_text(f"1 {(rate - 0.5) ** 2} 0\\n")
pathlib.Path(sys.argv[3], "rate.txt").write_text(str(rate))
"""


def sweep(tmp_path: Path, metric: str = "loss") -> None:
    """A sweep of four rates, whose trials write a metric as MLflow does."""
    written(tmp_path, "src/train.py", TRAIN)
    written(
        tmp_path,
        "sweep.yml",
        f"""{SCHEMAS}/sweepJob.schema.json
type: sweep
trial:
  code: ./src
  command: >-
    python train.py ${{{{search_space.rate}}}}
    ${{MLFLOW_TRACKING_URI#file://}} ${{{{outputs.model}}}}
  environment: azureml:env@latest
outputs: {{model: {{type: uri_folder}}}}
compute: azureml:cpu
sampling_algorithm: grid
search_space: {{rate: {{type: choice, values: [0.1, 0.4, 0.9, 2.5]}}}}
objective: {{goal: minimize, primary_metric: {metric}}}
limits: {{max_total_trials: 10, max_concurrent_trials: 2}}
""",
    )


def test_a_sweep_is_its_best_trial(mlctl: Run, tmp_path: Path) -> None:
    sweep(tmp_path)
    done = mlctl("job", "run", "sweep.yml", "--json", "--keep", "kept")
    assert done.code == 0, done.err
    (step,) = result(done)["steps"]
    assert step["parameters"] == {"rate": 0.4}
    assert (tmp_path / "kept/outputs/model/rate.txt").read_text() == "0.4"


def test_a_sweep_whose_metric_nobody_logs_says_what_was_logged(mlctl: Run, tmp_path: Path) -> None:
    sweep(tmp_path, metric="accuracy")
    done = mlctl("job", "run", "sweep.yml")
    assert done.code == 1
    assert "no trial logged the primary metric `accuracy`; logged were loss" in done.out


def test_a_parallel_step_scores_every_file_and_appends_its_rows(mlctl: Run, tmp_path: Path) -> None:
    written(
        tmp_path,
        "src/score.py",
        "import sys\n\ndef init():\n    pass\n\n"
        "def run(files):\n    rows = [open(file).read().strip() + sys.argv[2] for file in files]\n"
        "    for file in files:\n        open(file, 'a').write('spoilt')\n    return rows\n",
    )
    for number in range(5):
        written(tmp_path, f"data/{number}.txt", f"row {number}")
    pipeline(
        tmp_path,
        {
            "score": {
                "type": "parallel",
                "inputs": {"data": {"type": "uri_folder", "path": "./data"}, "mark": "!"},
                "outputs": {"rows": {"type": "uri_file"}},
                "input_data": "${{inputs.data}}",
                "mini_batch_size": "2",
                "task": {
                    "type": "run_function",
                    "code": "./src",
                    "entry_script": "score.py",
                    "program_arguments": "--mark ${{inputs.mark}}",
                    "append_row_to": "${{outputs.rows}}",
                    "environment": "azureml:env@latest",
                },
            }
        },
    )
    document = json.loads((tmp_path / "pipeline.yml").read_text())
    del document["jobs"]["score"]["environment"]
    (tmp_path / "pipeline.yml").write_text(json.dumps(document))
    done = mlctl("job", "run", "pipeline.yml", "--keep", "kept")
    assert done.code == 0, done.err
    rows = (tmp_path / "kept/score/outputs/rows").read_text().splitlines()
    assert rows == [f"row {number}!" for number in range(5)]
    sampled = mlctl("job", "run", "pipeline.yml", "--keep", "kept", "--sample", "3")
    assert sampled.code == 0
    assert (tmp_path / "data/0.txt").read_text() == "row 0"
    assert len((tmp_path / "kept/score/outputs/rows").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("command", "more", "message"),
    [
        ("echo ${{inputs.none}}", "", "has no value"),
        ("echo", "inputs: {a: {type: uri_file, path: ./none.csv}}\n", "there is no `./none.csv`"),
        (
            "echo ${{inputs.a}}",
            "inputs: {a: {type: uri_file, path: 'https://example.invalid/a.csv'}}\n",
            "nothing is fetched: --input a=PATH",
        ),
        ("nothing-like-this", "", "it ended with exit code 127"),
        ("kill -9 $$", "", "it ended with signal 9"),
        ("sleep 30", "limits: {timeout: 1}\n", "it took longer than its timeout of 1 s"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(
    mlctl: Run, tmp_path: Path, command: str, more: str, message: str
) -> None:
    text = f"command: {command}\nenvironment: azureml:env@latest\ncompute: azureml:cpu\n{more}"
    written(tmp_path, "job.yml", f"{SCHEMAS}/commandJob.schema.json\n{text}")
    done = mlctl("job", "run", "job.yml", "--ignore", "MLC")
    assert done.code == 1
    assert message in done.out + done.err
    assert "Traceback" not in done.out + done.err


def test_a_wrong_name_of_an_input_says_which_there_are(mlctl: Run, tmp_path: Path) -> None:
    written(tmp_path, "job.yml", ECHO)
    written(tmp_path, "data/a.txt", "")
    done = mlctl("job", "run", "job.yml", "--input", "hwo=x")
    assert "the job has no input `hwo`; it has data, who" in done.err


def counted(folder: Path, step: str) -> int:
    """How often a step has run that adds a line to a file of its name."""
    return len((folder / step).read_text().splitlines())


def test_a_step_runs_again_where_what_it_reads_was_made_again_or_was_changed(
    mlctl: Run, tmp_path: Path
) -> None:
    steps: dict[str, dict[str, Any]] = {
        "first": {
            "command": f"echo x >> {tmp_path}/first; date +%N > ${{{{outputs.out}}}}/n",
            "outputs": {"out": {"type": "uri_folder"}},
        },
        "second": {
            "command": f"echo x >> {tmp_path}/second; cat ${{{{inputs.i}}}}/n",
            "inputs": {"i": of_step("first")},
        },
    }
    pipeline(tmp_path, steps)
    for _ in range(2):
        assert mlctl("job", "run", "pipeline.yml").code == 0
    assert (counted(tmp_path, "first"), counted(tmp_path, "second")) == (1, 1)
    assert mlctl("job", "run", "pipeline.yml", "--only", "first").code == 0
    assert mlctl("job", "run", "pipeline.yml").code == 0
    assert (counted(tmp_path, "first"), counted(tmp_path, "second")) == (2, 2)
    (tmp_path / ".mlctl/runs/pipeline/first/outputs/out/n").unlink()
    assert mlctl("job", "run", "pipeline.yml").code == 0
    assert (counted(tmp_path, "first"), counted(tmp_path, "second")) == (3, 3)


def test_a_run_replaces_nothing_in_a_folder_that_is_not_its_own(mlctl: Run, tmp_path: Path) -> None:
    written(tmp_path, "job.yml", ECHO)
    written(tmp_path, "data/a.txt", "")
    written(tmp_path, "outputs/mine.txt", "mine")
    done = mlctl("job", "run", "job.yml", "--keep", ".")
    assert done.code != 0
    assert "it has files that no run has left" in done.err
    assert (tmp_path / "outputs/mine.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["../../away", "outputs"])
def test_a_step_with_a_name_that_is_no_folder_of_its_own_is_refused(
    mlctl: Run, tmp_path: Path, name: str
) -> None:
    pipeline(tmp_path, {name: {"command": "true"}})
    done = mlctl("job", "run", "pipeline.yml")
    assert done.code == 1
    assert f"`{name}` is " in done.err


def test_two_runs_are_not_in_one_folder_at_once(mlctl: Run, tmp_path: Path) -> None:
    written(tmp_path, "job.yml", ECHO)
    written(tmp_path, "data/a.txt", "")
    descriptor = lock(tmp_path / "kept")
    try:
        done = mlctl("job", "run", "job.yml", "--keep", "kept")
    finally:
        os.close(descriptor)
    assert "another run is in it" in done.err
    assert mlctl("job", "run", "job.yml", "--keep", "kept").code == 0


def test_what_is_left_of_a_run_that_is_being_replaced_is_not_taken_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.lay_out(tmp_path / "step", None, {"out": "uri_folder"}, "python")
    written(tmp_path, "step/outputs/out/n", "1")
    commands.save(tmp_path / "step", {"key": "k"})
    assert commands.saved(tmp_path / "step") is not None
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: os.kill(os.getpid(), 2))
    with pytest.raises(KeyboardInterrupt):
        commands.lay_out(tmp_path / "step", None, {"out": "uri_folder"}, "python")
    assert (tmp_path / "step/outputs/out/n").exists()
    assert commands.saved(tmp_path / "step") is None


@pytest.mark.parametrize(
    ("command", "flags", "message"),
    [
        ("sleep 30", ["--timeout", "1"], "the time for the whole run was over (--timeout)"),
        (
            "head -c 200000 /dev/zero > ${{outputs.out}}/x; sleep 30",
            ["--max-output", "100000"],
            "it wrote more than 100,000 bytes (--max-output)",
        ),
        (
            "mkdir -p outputs && head -c 200000 /dev/zero > outputs/x",
            ["--max-output", "100000"],
            "it wrote more than 100,000 bytes (--max-output)",
        ),
        (
            "head -c 200000 /dev/zero > in-the-code",
            ["--max-output", "100000"],
            "it wrote more than 100,000 bytes (--max-output)",
        ),
    ],
)
def test_a_run_ends_at_its_bounds(
    mlctl: Run, tmp_path: Path, command: str, flags: list[str], message: str
) -> None:
    pipeline(tmp_path, {"one": {"command": command, "outputs": {"out": {"type": "uri_folder"}}}})
    done = mlctl("job", "run", "pipeline.yml", *flags)
    assert (done.code, message in done.out + done.err) == (1, True), done.out


def test_the_code_itself_is_no_output_that_a_run_has_written(mlctl: Run, tmp_path: Path) -> None:
    written(tmp_path, "src/weights", "w" * 200_000)
    step = {"command": "cat weights | head -c 1000 > few", "code": "src"}
    pipeline(tmp_path, {"one": step})
    done = mlctl("job", "run", "pipeline.yml", "--max-output", "100000")
    assert done.code == 0, done.out


def test_a_command_that_fails_on_a_full_disk_says_so(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = SimpleNamespace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: full)
    pipeline(tmp_path, {"one": {"command": "exit 1"}})
    done = mlctl("job", "run", "pipeline.yml")
    assert "exit code 1; no space is left in `" in done.err


def test_what_a_command_leaves_running_ends_with_it(mlctl: Run, tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    daemon = f"setsid sh -c 'exec 3<>{alive}; echo up >&3; exec sleep 300' > /dev/null 2>&1 &"
    pipeline(tmp_path, {"one": {"command": f"{daemon} read line < {alive}; echo $line"}})
    assert mlctl("job", "run", "pipeline.yml").code == 0
    with pytest.raises(OSError, match="No such device"):  # nobody has it open any more
        os.open(alive, os.O_WRONLY | os.O_NONBLOCK)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_leaves_no_process_and_takes_nothing_half_done(
    tmp_path: Path, mlctl: Run, number: int
) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    pipeline(
        tmp_path,
        {
            "one": {
                "command": f"echo half > ${{{{outputs.out}}}}/x; exec 3>{alive}; sleep 300",
                "outputs": {"out": {"type": "uri_folder"}},
            },
        },
    )
    words = [sys.executable, "-P", "-m", "mlctl", "job", "run", "pipeline.yml"]
    process = subprocess.Popen(words, cwd=tmp_path, env=environment(tmp_path))
    with alive.open("rb") as reader:  # open as long as the step has it open
        process.send_signal(number)
        process.wait()
        assert reader.read() == b""
    pipeline(
        tmp_path,
        {
            "one": {
                "command": "ls ${{outputs.out}} > ${{outputs.out}}/list",
                "outputs": {"out": {"type": "uri_folder"}},
            },
        },
    )
    assert mlctl("job", "run", "pipeline.yml").code == 0
    assert (tmp_path / ".mlctl/runs/pipeline/one/outputs/out/list").read_text() == "list\n"


def test_an_input_that_is_not_here_is_said_before_anything_runs(mlctl: Run, tmp_path: Path) -> None:
    steps: dict[str, dict[str, Any]] = {
        "first": {"command": f"touch {tmp_path}/ran"},
        "second": {
            "command": "cat ${{inputs.rows}}",
            "inputs": {"rows": {"type": "uri_file", "path": "https://example.invalid/a.csv"}},
        },
    }
    pipeline(tmp_path, steps)
    done = mlctl("job", "run", "pipeline.yml")
    assert done.code == 1
    assert "--input second.rows=PATH says where it is here" in done.err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("of_job", [True, False])
def test_what_is_to_be_typed_for_an_input_is_taken(
    mlctl: Run, tmp_path: Path, of_job: bool
) -> None:
    rows = {"type": "uri_file", "path": "https://example.invalid/a.csv"}
    bound = "${{parent.inputs.table}}" if of_job else rows
    step = {"command": "cat ${{inputs.rows}}", "inputs": {"rows": bound}}
    pipeline(tmp_path, {"first": step}, **({"inputs": {"table": rows}} if of_job else {}))
    typed = "table" if of_job else "first.rows"
    assert f"--input {typed}=PATH" in mlctl("job", "run", "pipeline.yml").err
    written(tmp_path, "a.csv", "1\n")
    assert mlctl("job", "run", "pipeline.yml", "--input", f"{typed}=a.csv").code == 0


@st.composite
def graphs(draw: st.DrawFn) -> dict[int, list[int]]:
    """The earlier steps that each step reads."""
    count = draw(st.integers(1, 6))
    return {
        step: sorted(draw(st.sets(st.integers(0, step - 1), max_size=3)) if step else [])
        for step in range(count)
    }


@pytest.mark.slow
@given(graph=graphs(), failing=st.integers(0, 8))
@settings(max_examples=12, deadline=None)
def test_each_output_is_the_sum_of_what_the_step_reads(
    graph: dict[int, list[int]], failing: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("graph")
    steps = {}
    for step, reads in reversed(graph.items()):
        terms = [f"$(cat ${{{{inputs.i{read}}}}}/n)" for read in reads]
        fails = "exit 1; " if step == failing else ""
        steps[f"s{step}"] = {
            "command": f"{fails}echo $((1 + {' + '.join(terms) or '0'})) > ${{{{outputs.out}}}}/n",
            "inputs": {f"i{read}": of_step(f"s{read}") for read in reads},
            "outputs": {"out": {"type": "uri_folder"}},
        }
    pipeline(folder, steps)
    words = [sys.executable, "-P", "-m", "mlctl", "job", "run", "pipeline.yml", "--json"]
    env = environment(folder)
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, check=False)
    statuses = {step["name"]: step["status"] for step in json.loads(done.stdout)["steps"]}
    expected: dict[int, int | None] = {}
    for step, reads in graph.items():
        read = [expected[number] for number in reads]
        known = [number for number in read if number is not None]
        expected[step] = None if step == failing or len(known) < len(read) else 1 + sum(known)
    for step, number in expected.items():
        if number is None:
            assert statuses[f"s{step}"] == ("Failed" if step == failing else "NotStarted")
        else:
            place = folder / ".mlctl/runs/pipeline" / f"s{step}" / "outputs/out/n"
            assert int(place.read_text()) == number


@pytest.mark.slow
@given(graph=graphs(), data=st.data())
@settings(max_examples=6, deadline=None)
def test_a_run_that_was_killed_in_any_step_gives_what_it_would_have_given(
    graph: dict[int, list[int]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("killed")
    killed = data.draw(st.sampled_from(sorted(graph)))
    is_written = data.draw(st.booleans())  # killed before or after its output
    (folder / "pid").touch()
    kill = (
        f"if mkdir {folder}/once 2> /dev/null; then"
        f" while [ ! -s {folder}/pid ]; do sleep 0.01; done;"
        f" kill -9 $(cat {folder}/pid); sleep 300; fi"
    )
    steps = {}
    for step, reads in graph.items():
        total = " + ".join(["1", *(f"$(cat ${{{{inputs.i{read}}}}}/n)" for read in reads)])
        write = f"echo $(({total})) >> ${{{{outputs.out}}}}/n"
        parts = [write, kill] if is_written else [kill, write]
        steps[f"s{step}"] = {
            "command": "; ".join(parts if step == killed else [write]),
            "inputs": {f"i{read}": of_step(f"s{read}") for read in reads},
            "outputs": {"out": {"type": "uri_folder"}},
        }
    pipeline(folder, steps)
    words = [sys.executable, "-P", "-m", "mlctl", "job", "run", "pipeline.yml"]
    process = subprocess.Popen(words, cwd=folder, env=environment(folder))
    (folder / "pid").write_text(str(process.pid))
    assert process.wait() == -signal.SIGKILL
    again = subprocess.run(words, cwd=folder, env=environment(folder), check=False)
    assert again.returncode == 0
    expected: dict[int, int] = {}
    for step, reads in graph.items():
        expected[step] = 1 + sum(expected[read] for read in reads)
        place = folder / f".mlctl/runs/pipeline/s{step}/outputs/out/n"
        assert place.read_text() == f"{expected[step]}\n"


@pytest.mark.slow
def test_ten_steps_of_nothing_take_little_more_than_their_processes(
    mlctl: Run, tmp_path: Path
) -> None:
    pipeline(tmp_path, {f"s{step}": {"command": "true"} for step in range(10)})
    began = time.process_time()
    assert mlctl("job", "run", "pipeline.yml").code == 0
    assert time.process_time() - began < 3


def test_a_job_that_runs_a_component_has_the_steps_and_outputs_of_it(
    mlctl: Run, tmp_path: Path
) -> None:
    component = {
        "$schema": SCHEMAS.removeprefix("$schema: ") + "/pipelineComponent.schema.json",
        "type": "pipeline",
        "name": "two",
        "version": "1",
        "inputs": {"data": {"type": "uri_folder"}, "word": {"type": "string", "default": "so"}},
        "outputs": {"all": {"type": "uri_folder"}},
        "jobs": {
            "a": {
                "type": "command",
                "component": "azureml:say@latest",
                "inputs": {
                    "word": "${{parent.inputs.word}}",
                    "model": {"type": "custom_model", "path": "azureml:m@latest"},
                },
                "outputs": {"out": "${{parent.outputs.all}}"},
            }
        },
    }
    written(tmp_path, "two.yml", json.dumps(component))
    command = (
        "cat ${{inputs.model}} > ${{outputs.out}}/x; echo ${{inputs.word}} >> ${{outputs.out}}/x"
    )
    say = f"""{SCHEMAS}/commandComponent.schema.json
name: say
version: 1
command: {command}
inputs:
  word: {{type: string}}
  model: {{type: custom_model}}
outputs: {{out: {{type: uri_folder}}}}
environment: azureml:env@latest
"""
    written(tmp_path, "parts/say.yml", say)
    model = f"{SCHEMAS}/model.schema.json\nname: m\nversion: 1\ntype: custom_model\npath: m.txt\n"
    written(tmp_path, "parts/model.yml", model)
    written(tmp_path, "parts/m.txt", "the model\n")
    job = {
        "$schema": SCHEMAS.removeprefix("$schema: ") + "/pipelineJob.schema.json",
        "type": "pipeline",
        "compute": "azureml:cpu",
        "component": "two.yml",
        "inputs": {"data": {"type": "uri_folder"}},
    }
    written(tmp_path, "job.yml", json.dumps(job))
    alone = mlctl("job", "run", "job.yml", "--input", "data=parts")
    assert (alone.code, alone.out) == (1, "")
    assert "name its file or a folder, too (mlctl job run job.yml .)" in alone.err
    lacking = mlctl("job", "run", "job.yml", "parts")
    assert "the input `data` has no value; --input data=VALUE gives one" in lacking.err
    done = mlctl("job", "run", "job.yml", "parts", "--input", "data=parts")
    assert done.code == 0, done.err
    assert (tmp_path / ".mlctl/runs/job/outputs/all/x").read_text() == "the model\nso\n"


def test_an_output_that_was_not_made_is_not_listed(mlctl: Run, tmp_path: Path) -> None:
    out = {"out": {"type": "uri_folder"}}
    pipeline(
        tmp_path,
        {"a": {"command": "exit 1", "outputs": {"out": "${{parent.outputs.of_a}}"}}},
        outputs={"of_a": out["out"]},
    )
    python = ["--python", sys.executable]
    done = mlctl("job", "run", "pipeline.yml", *python)
    assert done.code == 1
    assert "output of_a" not in done.out
    again = shlex.join(["mlctl", "job", "run", "pipeline.yml", *python])
    assert f"again: {again} --keep" in done.err


@pytest.mark.slow
def test_what_a_command_installs_is_its_own(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    wheel = tmp_path / "src/tiny_one-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        meta = "tiny_one-1.0.dist-info"
        archive.writestr("tiny_one.py", "WORD = 'installed'\n")
        archive.writestr(
            f"{meta}/METADATA", "Metadata-Version: 2.1\nName: tiny-one\nVersion: 1.0\n"
        )
        archive.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{meta}/RECORD", "")
    ask = 'python -c "import hypothesis, tiny_one; print(tiny_one.WORD)"'
    install = f"pip install -q --no-index ./{wheel.name}"
    steps = {
        "a": {"command": f"{install} && cd / && {ask}", "code": "./src"},
        "b": {"command": f"python -m {install} && cd / && {ask}", "code": "./src"},
        "c": {"command": ask},
    }
    pipeline(tmp_path, steps)
    done = mlctl("job", "run", "pipeline.yml", "--stream")
    assert done.code == 1
    assert ("a | installed" in done.err, "b | installed" in done.err) == (True, True), done.err
    assert "`tiny_one` is not installed in this Python" in done.err

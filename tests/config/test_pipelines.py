"""Pipelines: steps, the components that they run, and what flows between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.config import graph
from mlctl.config.loader import Loader
from mlctl.config.pipelines import flows, order, pipelines
from mlctl.diagnostics import Diagnostic, Report, Severity
from tests.builders.calls import calls
from tests.builders.findings import TODAY

HEAD = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json
type: pipeline
settings: {default_compute: azureml:cpu-cluster}
inputs:
  patients: {type: uri_folder, path: azureml:patients:1}
  rate: 0.1
outputs:
  model: {type: mlflow_model}
jobs:
"""
TRAIN = """\
$schema: https://azuremlschemas.azureedge.net/latest/commandComponent.schema.json
name: train
version: 1
type: command
command: echo ${{inputs.data}} ${{inputs.rate}} $[[${{inputs.note}}]] ${{outputs.model}}
environment: azureml:sklearn:1
inputs:
  data: {type: uri_folder}
  rate: {type: number, default: 0.1, min: 0, max: 1}
  note: {type: string, optional: true, enum: [short, long]}
outputs:
  model: {type: mlflow_model}
"""


def findings(folder: Path, steps: str, *, head: str = HEAD, **files: str) -> list[Diagnostic]:
    """What `validate` finds in a pipeline beside a component `c.yml`."""
    (folder / "c.yml").write_text(TRAIN)
    for name, text in files.items():
        (folder / f"{name}.yml").write_text(text)
    (folder / "pipeline.yml").write_text(head + steps)
    report = Report()
    Loader(report, TODAY).load([str(folder / "pipeline.yml")])
    return list(report)


def step(name: str = "train", **fields: str) -> str:
    lines = {"component": "./c.yml", **fields}
    return f"  {name}:\n" + "".join(f"    {key}: {value}\n" for key, value in lines.items())


def told(found: list[Diagnostic]) -> list[tuple[str, str]]:
    return [(one.rule.code, one.message) for one in found]


def underlined(one: Diagnostic) -> str:
    assert one.primary is not None
    return one.primary.span.text


DATA = "{data: '${{parent.inputs.patients}}'}"


def test_a_pipeline_whose_steps_fit_is_valid(tmp_path: Path) -> None:
    first = step("first", inputs=DATA)
    last = step("last", inputs="{data: '${{parent.jobs.first.outputs.model}}', rate: 1}")
    assert told(findings(tmp_path, first + last)) == []


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("fast", "`rate` of the component must be a `number`, but gets `fast`"),
        ("2", "`rate` of the component must be at most 1, but gets `2`"),
        ("'-1'", "`rate` of the component must be at least 0, but gets `-1`"),
        ("true", "`rate` of the component must be a `number`, but gets `true`"),
        (
            "{path: azureml:x:1, type: uri_file}",
            "`rate` of the component must be a `number`, but gets a `uri_file`",
        ),
        (
            "'${{parent.inputs.patients}}'",
            "`rate` of the component must be a `number`, but gets a `uri_folder`",
        ),
    ],
)
def test_a_value_that_its_component_does_not_take_is_found(
    tmp_path: Path, value: str, wrong: str
) -> None:
    (found,) = findings(tmp_path, step(inputs=DATA.replace("}'}", f"}}', rate: {value}}}")))
    assert (found.rule.code, found.message) == ("MLC354", wrong)
    assert underlined(found).strip("'\"") in value


@pytest.mark.parametrize(
    "value",
    ["0.5", "'0.5'", "1", "'${{parent.inputs.rate}}'", "{value: 0.2}", "'${{parent.jobs.x.y}}z'"],
)
def test_numbers_may_be_text_and_what_is_not_known_is_not_judged(
    tmp_path: Path, value: str
) -> None:
    found = findings(tmp_path, step(inputs=DATA.replace("}'}", f"}}', rate: {value}}}")))
    assert [one for one in told(found) if one[0] == "MLC354"] == []


GROUPED = TRAIN.replace("inputs.rate", "inputs.fit.rate").replace("  rate:", "  fit.rate:")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("fit.rate", []),
        ("fit", []),
        ("fit.speed", [("MLC350", "the pipeline has no input `fit.speed`")]),
        ("fi.rate", [("MLC350", "the pipeline has no input `fi.rate`")]),
    ],
)
def test_an_input_of_a_group_is_named_with_the_group(
    tmp_path: Path, name: str, wrong: list[tuple[str, str]]
) -> None:
    head = HEAD.replace("rate: 0.1", "fit.rate: 0.1")
    inputs = "{data: '${{parent.inputs.patients}}', fit.rate: '${{parent.inputs.NAME}}'}"
    steps = step(component="./g.yml", inputs=inputs.replace("NAME", name))
    assert told(findings(tmp_path, steps, head=head, g=GROUPED)) == wrong


def test_a_fraction_for_a_whole_number_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "whole.yml").write_text(TRAIN.replace("type: number", "type: integer, max: 9"))
    steps = step(component="./whole.yml", inputs=DATA.replace("}'}", "}', rate: 0.5}"))
    wrong = [one for one in findings(tmp_path, steps) if one.rule.code == "MLC354"]
    assert [one.is_error for one in wrong] == [False]


def test_a_word_that_is_none_of_the_declared_ones_is_found(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, step(inputs=DATA.replace("}'}", "}', note: medium}")))
    assert (
        found.message
        == "`note` of the component must be one of `short` or `long`, but gets `medium`"
    )


def test_the_parameters_of_a_sweep_are_given_to_its_trial(tmp_path: Path) -> None:
    sweep = """\
  tune:
    type: sweep
    trial: ./c.yml
    search_space:
      data: {type: choice, values: [a, b]}
    objective: {goal: minimize, primary_metric: loss}
    limits: {max_total_trials: 2}
"""
    assert told(findings(tmp_path, sweep)) == []


def test_each_ring_of_steps_is_told_once(tmp_path: Path) -> None:
    def reads(name: str, other: str) -> str:
        return step(name, inputs=f"{{data: '${{{{parent.jobs.{other}.outputs.model}}}}'}}")

    rings = reads("a", "b") + reads("b", "c") + reads("c", "a") + reads("d", "d") + reads("e", "a")
    found = [one for one in findings(tmp_path, rings) if one.rule.code == "MLC351"]
    assert [one.message for one in found] == [
        "steps `a`, `b` and `c` wait for each other",
        "step `d` reads its own output",
    ]


def test_what_is_wrong_in_a_component_file_is_found_in_it(tmp_path: Path) -> None:
    nested = HEAD.replace("pipelineJob", "pipelineComponent").replace("settings", "#")
    nested = nested.replace(", path: azureml:patients:1", "").replace("0.1", "{type: number}")
    inner = f"{nested}{step(inputs=DATA.replace('patients', 'patient'))}"
    outer = "{patients: '${{parent.inputs.patients}}', rate: 1}"
    steps = f"  sub: {{type: pipeline, component: ./sub.yml, inputs: {outer}}}\n"
    (found,) = findings(tmp_path, steps, sub=inner)
    assert found.primary is not None
    assert found.rule.code == "MLC350"
    assert found.primary.span.source.name == str(tmp_path / "sub.yml")


def test_a_component_is_found_among_the_files_by_its_name(tmp_path: Path) -> None:
    loaded = Loader(Report(), TODAY)
    (tmp_path / "c.yml").write_text(TRAIN)
    text = HEAD + step(component="azureml:train:1", inputs="{dat: 1}")
    (tmp_path / "pipeline.yml").write_text(text)
    config = loaded.load([str(tmp_path / "pipeline.yml")])
    assert [str(edge.target) for edge in config.graph.edges] == [
        "compute/cpu-cluster",
        "component/train:1",
    ]


def test_steps_are_ordered_by_their_data(tmp_path: Path) -> None:
    last = step("last", inputs="{data: '${{parent.jobs.first.outputs.model}}'}")
    (tmp_path / "p.yml").write_text(HEAD + last + step("first", inputs=DATA))
    config = Loader(Report(), TODAY).load([str(tmp_path / "p.yml")])
    (found,) = pipelines(graph.build(config.resources), lambda _path: None)
    assert order(found) == (["first", "last"], [])
    assert [(source, target) for source, target, _ in flows(found)] == [("first", "last")]


def test_an_expression_in_a_folded_text_is_underlined_in_its_line(tmp_path: Path) -> None:
    text = """\
  one:
    environment: azureml:e:1
    command: >-
      python a.py
      --x ${{inputs.y}}
"""
    (found,) = findings(tmp_path, text)
    assert (found.rule.code, underlined(found)) == ("MLC342", "${{inputs.y}}")
    assert found.primary is not None
    assert (found.primary.span.line, found.primary.span.column) == (13, 10)


def test_what_is_written_with_escapes_is_underlined_as_a_whole(tmp_path: Path) -> None:
    text = '  one:\n    environment: azureml:e:1\n    command: "a ${{inputs\\x2ey}}"\n'
    (found,) = findings(tmp_path, text)
    assert underlined(found) == '"a ${{inputs\\x2ey}}"'


@pytest.mark.parametrize(
    "jobs",
    ["[1]", "{a: 1}", "{a: {component: 1}}", "{a: {inputs: [1], outputs: 2}}", "{a: {trial: []}}"],
)
def test_steps_of_any_type_stop_no_rule(tmp_path: Path, jobs: str) -> None:
    found = findings(tmp_path, "", head=HEAD.replace("jobs:\n", f"jobs: {jobs}\n"))
    assert any(one.rule.severity is Severity.ERROR for one in found)


def test_a_long_chain_of_steps_is_checked_in_linear_work(tmp_path: Path) -> None:
    def work(count: int) -> int:
        chain = "".join(
            step(f"s{number}", inputs=f"{{data: '{source}'}}")
            for number, source in enumerate(
                ["${{parent.inputs.patients}}"]
                + [f"${{{{parent.jobs.s{number}.outputs.model}}}}" for number in range(count - 1)]
            )
        )
        return calls(lambda: findings(tmp_path, chain))

    work(1)  # what is read and compiled once
    assert work(40) < 2.2 * work(20)

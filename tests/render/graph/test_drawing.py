"""Pictures of files: what they show, and that other programs can read them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.render.graph import drawing, markup
from mlctl.render.graph.drawing import Arrow, Panel, PictureNode, Shape, in_order, panels
from tests.builders.findings import TODAY
from tests.builders.paths import SAMPLES

PIPELINE = """\
$schema: https://azuremlschemas.azureedge.net/latest/pipelineJob.schema.json
type: pipeline
display_name: Heart disease
settings: {default_compute: azureml:cpu-cluster}
inputs:
  patients: {type: uri_folder, path: azureml:patients:1}
outputs:
  model: {type: mlflow_model}
jobs:
  score:
    component: azureml:score:1
    inputs:
      model: ${{parent.jobs.train.outputs.model}}
      data: ${{parent.jobs.prepare.outputs.data}}
  train:
    component: azureml:train:1
    inputs: {data: "${{parent.jobs.prepare.outputs.data}}"}
    outputs: {model: "${{parent.outputs.model}}"}
  prepare:
    component: azureml:prepare:1
    inputs: {raw: "${{parent.inputs.patients}}"}
"""
TREE = """\
Heart disease (pipeline job)
├─ prepare (command prepare:1)
│  └─ raw ← inputs.patients
├─ train (command train:1)
│  └─ data ← prepare.data
├─ score (command score:1)
│  ├─ model ← train.model
│  └─ data ← prepare.data
├─ outputs
│  └─ model ← train.model
└─ needs
   ├─ compute/cpu-cluster
   ├─ component/score:1
   ├─ component/train:1
   └─ component/prepare:1
"""


def drawn(*paths: Path) -> list[Panel]:
    loaded = Loader(Report(), TODAY).load([str(path) for path in paths])
    assert not loaded.report.failed
    return panels(loaded.graph, loaded.read)


@pytest.fixture
def pipeline(tmp_path: Path) -> list[Panel]:
    (tmp_path / "pipeline.yml").write_text(PIPELINE)
    return drawn(tmp_path / "pipeline.yml")


def test_a_pipeline_is_a_tree_of_steps_in_the_order_of_their_data(pipeline: list[Panel]) -> None:
    assert markup.text(pipeline) == TREE


def many(endpoints: int) -> Panel:
    """A panel of endpoints with a deployment and a model each, and a cluster that all share."""
    shape = Shape.RESOURCE
    nodes = [PictureNode("compute/cpu", "cpu", "cluster", shape)]
    arrows = []
    for name in (f"e{number:02}" for number in range(endpoints)):
        deployment, endpoint, model = (
            f"batch-deployment/{name}/blue",
            f"batch-endpoint/{name}",
            f"model/m-{name}:1",
        )
        nodes += [PictureNode(node, node, "", shape) for node in (deployment, endpoint, model)]
        arrows += [Arrow(deployment, target, "x") for target in (endpoint, model, "compute/cpu")]
    by_id = {node.id: node for node in nodes}
    return Panel("resources", "", drawing._group_nodes(by_id, arrows), tuple(arrows))


def test_what_one_endpoint_alone_uses_is_drawn_with_it() -> None:
    groups = {node.id: node.group for node in many(2).nodes.values()}
    assert groups["model/m-e01:1"] == groups["batch-deployment/e01/blue"] == "e01"
    assert groups["compute/cpu"] == ""
    text = markup.text([many(2)])
    assert "e00:\n  batch-deployment/e00/blue" in text
    assert markup.mermaid([many(2)]).count('g1["e00"]') == 1


def test_a_picture_of_150_resources_has_no_arrow_across_groups() -> None:
    packed = drawing.pack(many(50))
    assert len(packed.nodes) == 151
    assert all(
        packed.nodes[arrow.source].group == packed.nodes[arrow.target].group
        for arrow in packed.arrows
    )
    assert "x: cpu" in packed.nodes["batch-deployment/e07/blue"].note
    assert drawing.pack(many(3)) == many(3)


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_150_resources_are_no_wider_than_they_are_high_and_no_band() -> None:
    dot = markup.dot([many(50)])
    done = subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True)
    match = re.search(rb'<svg width="(\d+)pt" height="(\d+)pt"', done.stdout)
    assert match is not None
    width, height = int(match[1]), int(match[2])
    assert 1 / 3 < width / height < 3


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_many_endpoints_are_drawn_in_order_down_the_columns() -> None:
    dot = markup.dot([many(50)])
    done = subprocess.run(["dot", "-Tplain"], input=dot, capture_output=True, text=True, check=True)
    line = re.compile(r"^node \S+ (\S+) (\S+) \S+ \S+ \"batch-endpoint/(e\d+)", re.MULTILINE)
    nodes = line.findall(done.stdout)
    places = {name: (round(float(left)), -float(up)) for left, up, name in nodes}
    names = [name for name in sorted(places) if name[1] == "0"]
    assert names == sorted(names, key=lambda name: places[name])


def test_resources_stand_below_what_refers_to_them() -> None:
    tree = markup.text(drawn(SAMPLES / "low-priority-batch"))
    assert tree.startswith("classifier-xgboost (model deployment)\n├─ endpoint_name: ")
    assert "compute: low-pri-cluster (compute cluster)" in tree


def test_what_no_file_declares_is_told(tmp_path: Path) -> None:
    deployment = (SAMPLES / "low-priority-batch" / "deployment.yml").read_text()
    (tmp_path / "deployment.yml").write_text(re.sub("(?m)^(code|environment).*", "", deployment))
    (whole,) = panels(Loader(Report(), TODAY).load([str(tmp_path)]).graph, lambda _path: None)
    assert {one.shape for one in whole.nodes.values()} == {Shape.RESOURCE, Shape.MISSING}
    assert "low-pri-cluster (compute, not in these files)" in markup.text([whole])


def test_mermaid_has_every_node_and_arrow(pipeline: list[Panel]) -> None:
    picture = markup.mermaid(pipeline)
    assert picture.startswith("flowchart LR\n")
    assert picture.count("-->") == len(pipeline[0].arrows) == 5
    assert '-->|"data"|' in picture
    assert picture.count("subgraph") == picture.count("direction LR") == 1


def test_dot_is_read_by_graphviz(pipeline: list[Panel]) -> None:
    picture = markup.dot(pipeline)
    assert picture.count("->") == 5
    assert picture.count("{") == picture.count("}")
    if shutil.which("dot"):
        subprocess.run(
            ["dot", "-Tplain"], input=picture, text=True, check=True, capture_output=True
        )


NAMES = st.sampled_from([f"jobs.{letter}" for letter in "abcdef"])
TEXTS = st.text(max_size=12)


@st.composite
def pictures(draw: st.DrawFn) -> Panel:
    names = draw(st.lists(NAMES, min_size=1, unique=True))
    nodes = {
        name: PictureNode(name, draw(TEXTS), draw(TEXTS), draw(st.sampled_from(Shape)))
        for name in names
    }
    ends = st.sampled_from(names)
    arrows = draw(st.lists(st.builds(Arrow, ends, ends, TEXTS), max_size=10))
    return Panel(draw(TEXTS), draw(TEXTS), nodes, tuple(arrows))


@given(pictures())
def test_whatever_the_names_and_arrows_a_picture_can_be_read(panel: Panel) -> None:
    assert markup.mermaid([panel]).count("\n") == len(panel.nodes) + len(panel.arrows) + 5
    assert len(markup.dot([panel]).splitlines()) == len(panel.nodes) + len(panel.arrows) + 8
    assert markup.text([panel])


@given(pictures())
def test_every_node_comes_once_and_after_what_leads_to_it_unless_in_a_ring(panel: Panel) -> None:
    order = in_order(panel)
    assert sorted(order) == sorted(panel.nodes)
    reached = {name: {name} for name in panel.nodes}
    for _ in panel.nodes:
        for arrow in panel.arrows:
            reached[arrow.source] |= reached[arrow.target]
    if all(arrow.source not in reached[arrow.target] for arrow in panel.arrows):  # without rings
        for arrow in panel.arrows:
            assert order.index(arrow.source) < order.index(arrow.target)

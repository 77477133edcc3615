"""What takes nodes away, said by the name of a weather, by a file, or by its own numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders.shell import Run

SET = ("local", "preemption", "set")
ENDPOINT = ("batch-endpoint", "invoke", "-n", "heart-classifier-batch")
SLOTS = ("--set", "max_concurrency_per_instance=1", "--set", "retry_settings.timeout=9999")
WORK = ("-m", "1", "--seconds-per-mini-batch", "3600", *SLOTS)


@pytest.fixture
def cloud(mlctl: Run, sample: Path) -> Run:
    """The sample on a cloud whose jobs go on whatever they lose."""
    mlctl("apply", sample, "--yes")
    mlctl("local", "delays", "set", "--allocation", "0", "--preparation", "0")
    mlctl("local", "settings", "set", "cancel_when_preempted=false")
    return mlctl


def run(cloud: Run, files: int) -> Any:
    """A job of `files` hours of work on two nodes, at its end."""
    job = cloud(*ENDPOINT, "--files", str(files), *WORK, "--query", "name", "-o", "tsv").out
    return cloud("job", "wait", "-n", job.strip()).json


def test_weather_by_name_takes_nodes_and_calm_takes_none(cloud: Run) -> None:
    lost = {}
    for name in ("calm", "aws-v100-2023", "stress", "band:20+", "band:25%"):
        assert cloud(*SET, "--weather", name).code == 0
        lost[name] = run(cloud, 40)["preempted_nodes"]
    assert lost["calm"] == 0
    assert all(lost[name] for name in lost if name != "calm")


def test_weather_from_a_file_that_follows_the_hours(cloud: Run, tmp_path: Path) -> None:
    """Everything is lost in the hour from 12 o'clock, and nothing at any other time."""
    noon = [0.0] * 12 + [1.0] + [0.0] * 11
    file = tmp_path / "noon.json"
    file.write_text(json.dumps({"shocks": {"per_hour": 60, "fraction": 1}, "by_hour": noon}))
    assert cloud(*SET, "--weather", file, "--start", "00:00").code == 0
    assert run(cloud, 20)["preempted_nodes"] == 0  # ten hours on two nodes
    assert cloud(*SET, "--weather", file, "--start", "02:30").code == 0
    assert run(cloud, 20)["preempted_nodes"] > 0


def test_lives_of_a_bathtub_end_after_a_day(cloud: Run) -> None:
    assert cloud(*SET, "--bathtub", "0.475,1,0.8,24").code == 0
    assert run(cloud, 60)["preempted_nodes"] >= 2


@pytest.mark.slow
def test_a_trace_begins_where_there_are_nodes(cloud: Run, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    data = [0] * 50 + [2] * 50
    file.write_text(json.dumps({"metadata": {"gap_seconds": 3600}, "data": data}))
    for _ in range(8):
        assert cloud(*SET, "--trace", file, "--start", "available").code == 0
        assert run(cloud, 2)["makespan_s"] < 49 * 3600
        cloud("local", "advance", "5m")
    assert cloud(*SET, "--trace", file, "--start", "any").code == 0


def test_outages_have_the_spread_that_is_asked_for(cloud: Run) -> None:
    """Every outage of half an hour, and the job ends after the outages that it met."""
    assert cloud(*OUT, "2,1800", "--outage-cv", "0").code == 0
    ended = run(cloud, 6)
    losses = ended["preempted_nodes"]
    assert losses > 0
    assert ended["makespan_s"] > 3 * 3600 + 1800


OUT = ("local", "capacity", "set", "--outages")
BAD = [
    ((*SET, "--weather", "hurricane"), "none of calm"),
    ((*SET, "--weather", "band:5-9"), "none of 0-5"),
    ((*SET, "--weather", "bad.json"), "`shapes`"),
    ((*SET, "--weather", "calm", "--none"), "nothing else"),
    ((*SET, "--weather", "calm", "--start", "25:00"), "HH:MM"),
    ((*SET, "--weather", "calm", "--start", "8.30"), "HH:MM"),
    ((*SET, "--poisson", "1", "--start", "08:30"), "--weather"),
    ((*SET, "--poisson", "1", "--offset", "3"), "--trace"),
    ((*SET, "--trace", "none.json", "--start", "now"), "any or available"),
    ((*SET, "--trace", "none.json", "--start", "any", "--offset", "1"), "exclude"),
    ((*SET, "--trace", "none.json", "--start", "available"), "never has nodes"),
    ((*SET, "--eviction-rate", "7.5"), "percentage"),
    ((*SET, "--bathtub", "1,2,3"), "4 numbers"),
    ((*OUT, "2,1800", "--outage-cv", "-1"), "outages"),
    (("local", "capacity", "set", "--nodes", "2", "--outage-cv", "1"), "--outages"),
]


@pytest.mark.parametrize(("line", "says"), BAD, ids=[" ".join(line[2:]) for line, _ in BAD])
def test_what_is_no_weather_is_a_sentence(
    cloud: Run, tmp_path: Path, line: tuple[str, ...], says: str
) -> None:
    (tmp_path / "bad.json").write_text('{"shapes": 1}')
    (tmp_path / "none.json").write_text('{"metadata": {"gap_seconds": 60}, "data": [0, 0]}')
    said = cloud(*line)
    assert said.code in (1, 2)
    assert says in said.err.replace("\n", " ")


def test_what_took_the_nodes_is_found_again_in_the_metrics(mlctl: Run, tmp_path: Path) -> None:
    """A day of twenty idle nodes, with two shocks an hour that take half of what is up."""
    file = tmp_path / "c.yml"
    file.write_text(
        "name: spot\ntype: amlcompute\nsize: Standard_D2ds_v5\ntier: low_priority\n"
        "min_instances: 20\nmax_instances: 20\n"
    )
    mlctl("local", "quota", "set", "--low-priority-cores", "200")
    mlctl("local", "delays", "set", "--allocation", "60", "--preparation", "0")
    mlctl(*SET, "--shock", "2,0.5", "--poisson", "0.05")
    assert mlctl("apply", file, "--yes").code == 0
    mlctl("local", "advance", "1d")
    asked = ("--metric", "Preempted Nodes,Total Nodes", "--interval", "1m", "-o", "json")
    metrics, weather = tmp_path / "metrics.json", tmp_path / "weather.json"
    metrics.write_text(mlctl("compute", "metrics", "spot", *asked).out)
    found = mlctl("local", "preemption", "fit", "--from", metrics, "-o", weather)
    assert "Losses come together" in found.out
    written = json.loads(weather.read_text())
    for name, true in (("rate", 0.05), ("shocks", 2.0), ("fraction", 0.5)):
        low, high = written["fit"]["intervals_95"][name]
        assert low <= true <= high
    assert mlctl(*SET, "--weather", weather).code == 0
    (tmp_path / "bad.json").write_text("[]")
    assert "no metric" in mlctl("local", "preemption", "fit", "--from", tmp_path / "bad.json").err

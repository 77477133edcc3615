"""The simulated cloud, from the shell, against numbers that were derived by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlctl.catalog import prices
from tests.builders.shell import Run, cluster, edit

ENDPOINT = ("-n", "heart-classifier-batch")
POOL = """\
$schema: https://mlctl.dev/schemas/batchPool.schema.json
name: pool
vm_count: {vms}
swagger_url: https://host/workspaces/1/services/2/swagger.json
"""
AT_ONCE = ("--allocation", "0", "--preparation", "0", "--replacement", "0")
DAY, HOUR = 86_400, 3_600


@pytest.fixture
def cloud(mlctl: Run, sample: Path) -> Run:
    """The sample applied to a cloud whose nodes come at once."""
    mlctl("apply", sample, "--yes")
    mlctl("local", "delays", "set", *AT_ONCE)
    return mlctl


def ended(cloud: Run, *invoked: str) -> Any:
    """A job with these flags of invoke, at its end."""
    made = cloud("batch-endpoint", "invoke", *ENDPOINT, *invoked, "--query", "name", "-o", "tsv")
    return cloud("job", "wait", "-n", made.out.strip()).json


def one_slot(nodes: int, files: int, seconds: int) -> tuple[str, ...]:
    """The flags of a job of mini-batches of one file, one at a time on each node."""
    work = ("--files", str(files), "-m", "1", "--seconds-per-mini-batch", str(seconds))
    return ("-c", str(nodes), *work, "--set", "max_concurrency_per_instance=1")


def pool(mlctl: Run, vms: int) -> None:
    """Have the pool with so many VMs."""
    Path("pool.yml").write_text(POOL.format(vms=vms))
    assert mlctl("apply", "pool.yml", "--yes").code == 0


def hours(mlctl: Run, kind: str) -> Any:
    """The node-hours of the first of a kind."""
    query = f"[?kind=='{kind}'] | [0].node_hours"
    return mlctl("local", "usage", "-o", "json", "--query", query).json


@pytest.mark.parametrize(("vms", "length"), [(2, "24h"), (4, "12h")])
def test_both_pools_of_the_example_bill_48_hours(mlctl: Run, vms: int, length: str) -> None:
    pool(mlctl, vms)
    mlctl("local", "advance", length)
    assert hours(mlctl, "pool") == 48
    mlctl("destroy", "pool.yml", "--yes")
    assert hours(mlctl, "pool") == 48


def test_a_pool_without_vms_does_not_bill(mlctl: Run) -> None:
    pool(mlctl, 3)
    mlctl("local", "advance", "10h")
    pool(mlctl, 0)
    mlctl("local", "advance", "20h")
    mlctl("destroy", "pool.yml", "--yes")
    assert hours(mlctl, "pool") == 30


def test_five_hours_of_work_on_two_vms_end_after_three(mlctl: Run) -> None:
    pool(mlctl, 2)
    line = (
        "batch-pool",
        "submit",
        "-n",
        "pool",
        "--duration",
        "1h",
        "-o",
        "tsv",
        "--query",
        "name",
    )
    names = [mlctl(*line).out.strip() for _ in range(5)]
    jobs = [mlctl("job", "wait", "-n", name).json for name in names]
    first = jobs[0]["creation_context"]["created_at"]
    assert [job["start_time"][11:13] for job in jobs] == ["00", "00", "01", "01", "02"]
    assert (first[14:16], jobs[-1]["makespan_s"]) == (jobs[-1]["end_time"][14:16], 3 * HOUR)


def many(mlctl: Run, sample: Path, files: int) -> Any:
    """Mini-batches of a minute on twenty dedicated nodes that take five minutes to come."""
    edit(sample / "low-pri-cluster.yml", "max_instances: 2", "max_instances: 20")
    edit(sample / "low-pri-cluster.yml", "tier: low_priority", "tier: dedicated")
    mlctl("apply", sample, "--yes")
    mlctl("local", "delays", "set", *AT_ONCE, "--allocation", "300")
    return ended(mlctl, *one_slot(20, files, 60))


def test_a_thousand_mini_batches_on_twenty_nodes_take_3300_seconds(
    mlctl: Run, sample: Path
) -> None:
    job = many(mlctl, sample, 1000)
    assert (job["status"], job["makespan_s"]) == ("Completed", 3300)
    mlctl("local", "advance", "10m")
    assert mlctl("job", "show", "-n", job["name"]).json["billed_node_s"] == 62_400
    assert hours(mlctl, "cluster") == pytest.approx(17.3333, abs=1e-4)


def test_one_mini_batch_more_takes_a_minute_more(mlctl: Run, sample: Path) -> None:
    assert many(mlctl, sample, 1001)["makespan_s"] == 3360


def test_the_first_example_takes_three_rounds(cloud: Run) -> None:
    job = ended(cloud, "--files", "20", "--seconds-per-mini-batch", "60")
    assert (job["mini_batches"]["total"], job["makespan_s"]) == (10, 180)


def test_mini_batches_that_time_out_are_tried_three_times(cloud: Run) -> None:
    job = ended(cloud, *one_slot(2, 8, 400))
    assert (job["status"], job["makespan_s"]) == ("Completed", 3600)
    assert job["mini_batches"] == {"total": 8, "completed": 0, "failed": 8, "attempts": 24}


@pytest.mark.parametrize(("place", "at"), [("tail", 2700), ("head", 900)])
def test_a_job_without_tolerance_fails_with_its_first_mini_batch(
    cloud: Run, place: str, at: int
) -> None:
    cloud("local", "settings", "set", f"failed_goes_to={place}")
    job = ended(cloud, *one_slot(2, 8, 400), "error_threshold=0")
    assert (job["status"], job["makespan_s"]) == ("Failed", at)


def test_the_low_priority_quota_counts_what_clusters_may_have(mlctl: Run, tmp_path: Path) -> None:
    mlctl("local", "settings", "set", "quota_refuses=max")
    for name, most in (("one", 10), ("two", 16)):
        file = cluster(tmp_path / f"{name}.yml", size="STANDARD_DS3_v2", most=most)
        edit(file, "type: amlcompute", "type: amlcompute\ntier: low_priority")
    assert mlctl("apply", "one.yml", "--yes").code == 0
    assert mlctl("apply", "two.yml", "--yes").code == 6
    mlctl("compute", "delete", "-n", "one", "--yes")
    assert mlctl("apply", "two.yml", "--yes").code == 0
    edit(tmp_path / "two.yml", "max_instances: 16", "max_instances: 25")
    assert mlctl("apply", "two.yml", "--yes").code == 0
    edit(tmp_path / "two.yml", "max_instances: 25", "max_instances: 26")
    assert mlctl("apply", "two.yml", "--yes").code != 0


@pytest.mark.parametrize(
    ("cancels", "status", "at", "billed"),
    [
        ("true", "Canceled", 900, 1500),
        ("false", "Completed", 1800, 2100),
    ],
)
def test_a_capacity_trace_takes_nodes_and_gives_them_back(
    cloud: Run, tmp_path: Path, cancels: str, status: str, at: int, billed: int
) -> None:
    data = {"metadata": {"gap_seconds": 300}, "data": [2, 2, 1, 0, 0, 2]}
    (tmp_path / "trace.json").write_text(json.dumps(data))
    cloud("local", "settings", "set", f"cancel_when_preempted={cancels}")
    cloud("local", "preemption", "set", "--trace", "trace.json")
    job = ended(cloud, *one_slot(2, 20, 100))
    assert (job["status"], job["makespan_s"], job["billed_node_s"]) == (status, at, billed)
    assert (job["preempted_nodes"], job["preempted_cores"], job["lost_node_s"]) == (2, 8, 0)


@pytest.mark.parametrize(("least", "expected"), [(1, 24), (0, 0)])
def test_the_least_nodes_bill_while_nobody_uses_them(
    mlctl: Run, tmp_path: Path, least: int, expected: int
) -> None:
    edit(
        cluster(tmp_path / "cpu.yml"),
        "max_instances: 2",
        f"max_instances: 2\nmin_instances: {least}",
    )
    mlctl("local", "delays", "set", *AT_ONCE)
    mlctl("apply", "cpu.yml", "--yes")
    mlctl("local", "advance", "24h")
    assert hours(mlctl, "cluster") == expected


def test_metrics_are_those_of_the_portal(cloud: Run, tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text("[[100, 0], [400, 1], [401, 1]]")
    cloud("local", "preemption", "set", "--script", "script.json")
    ended(cloud, *one_slot(2, 20, 100))
    found = cloud("compute", "metrics", "low-pri-cluster", "--interval", "5m", "-o", "json").json
    totals = {one["metric"]: [each["total"] for each in one["data"]] for one in found}
    assert (sum(totals["Preempted Nodes"]), sum(totals["Preempted Cores"])) == (3, 12)
    assert "Preempted Cores" in cloud("compute", "metrics", "low-pri-cluster", "-o", "chart").out


def test_what_has_no_price_has_an_unknown_cost(mlctl: Run) -> None:
    pool(mlctl, 1)
    mlctl("local", "advance", "1h")
    rows = mlctl("local", "usage", "-o", "json").json
    assert [row["cost"] for row in rows] == ["unknown", "unknown"]


def test_low_priority_is_billed_at_the_price_of_spot(cloud: Run) -> None:
    ended(cloud, *one_slot(2, 20, 100))
    query = ("-o", "json", "--query", "[?kind=='cluster'] | [0].cost")
    usual = cloud("local", "usage", *query).json
    hour = prices.own_prices().price("Standard_DS3_v2", "eastus").spot
    assert usual == pytest.approx(hours(cloud, "cluster") * hour, abs=1e-6)
    assert hours(cloud, "total") == hours(cloud, "cluster") > 0

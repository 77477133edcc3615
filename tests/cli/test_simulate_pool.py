"""`mlctl simulate pool`, from the shell: against queueing theory at fixed seeds."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mlctl.forecast.pools import PoolStudy
from tests.builders.forecasts import far
from tests.builders.paths import ROOT
from tests.builders.shell import Run

POOL = "$schema: https://x/batchPool.schema.json\nname: mine\nvm_count: {}\nswagger_url: {}\n"
URL = "https://host/services/a/swagger.json"
LOADED = ("--seconds-per-job", "600", "--runs", "12", "--jobs", "600", "--price", "1")


def forecast(mlctl: Run, vms: int, *flags: str) -> dict[str, Any]:
    Path("pool.yml").write_text(POOL.format(vms, URL))
    done = mlctl("simulate", "pool", "pool.yml", *flags, "-o", "json")
    assert done.code == 0, done.err
    data: dict[str, Any] = done.json
    return {**data, "rows": {row["name"]: row for row in data["rows"]}}


def test_jobs_wait_as_long_as_erlang_says(mlctl: Run) -> None:
    """3 VMs at 1.5 erlang: C is 9/38, the wait 9/38 * 600 / 1.5."""
    row = forecast(mlctl, 3, "--jobs-per-day", "216", *LOADED, "--exponential")["rows"]["pool"]
    truth = 9 / 38 * 600 / 1.5
    assert row["exact_wait_s"] == pytest.approx(truth)
    assert far(row["wait_s"], truth) < 4
    assert far(row["time_s"], truth + 600) < 4


def test_jobs_of_equal_length_wait_half_as_long_for_one_vm(mlctl: Run) -> None:
    """Pollaczek and Khinchine at half a load: 0.5 * 600 / 2 / 0.5."""
    row = forecast(mlctl, 1, "--jobs-per-day", "72", *LOADED)["rows"]["pool"]
    assert row["exact_wait_s"] == pytest.approx(300)
    assert far(row["wait_s"], 300) < 4


def test_jobs_of_others_make_the_shared_queue_longer(mlctl: Run) -> None:
    """2 slots at 0.5 of mine and 0.5 of others: C is 1/3, the wait 200 s."""
    others = ("--shared-slots", "2", "--shared-arrivals", "3", "--shared-seconds", "600")
    found = forecast(mlctl, 2, "--jobs-per-day", "72", *LOADED, "--exponential", *others)
    row = found["rows"]["shared queue"]
    assert row["exact_wait_s"] == pytest.approx(200)
    assert far(row["wait_s"], 200) < 4
    assert row["cost_per_month"] is None


def test_a_pool_costs_its_vms_all_month_and_a_cluster_what_it_uses(mlctl: Run) -> None:
    """One job a day on average: a node is prepared for 60 s, works for 600 s, idles for 120 s."""
    flags = ("--jobs-per-day", "1", "--seconds-per-job", "600", "--price", "0.5")
    found = forecast(mlctl, 2, *flags, "--node-price", "1", "--weather", "calm", "--jobs", "200")
    rows = found["rows"]
    assert rows["pool"]["cost_per_month"]["value"] == pytest.approx(730)
    each = (60 + 600 + 120) / 3600
    assert rows["cluster, dedicated"]["cost_per_job"] == pytest.approx(each, rel=0.05)
    assert rows["cluster, low priority"]["cost_per_job"] == pytest.approx(each / 5, rel=0.05)
    assert rows["cluster, dedicated"]["wait_s"]["value"] == pytest.approx(240, rel=0.05)


def test_a_pool_breaks_even_where_its_price_is_that_of_the_nodes(mlctl: Run) -> None:
    """A VM of 0.25 an hour is 6 a day; a job on a node of 1 costs 780 s of it, or a bit less."""
    flags = ("--jobs-per-day", "9", "--seconds-per-job", "600", "--price", "0.25")
    found = forecast(mlctl, 1, *flags, "--node-price", "1", "--jobs", "50")
    even = found["break_even_jobs_per_day"]
    assert 6 / (780 / 3600) < even["cluster, dedicated"] < 6 / (600 / 3600)
    assert even["cluster, low priority"] is None


def test_one_seed_is_one_forecast_whoever_works_at_it(mlctl: Run) -> None:
    flags = ("--jobs-per-day", "60", "--seconds-per-job", "600", "--jobs", "50")
    assert forecast(mlctl, 2, *flags) == forecast(mlctl, 2, *flags, "--workers", "2")


def test_a_forecast_is_a_table_for_people(mlctl: Run) -> None:
    Path("pool.yml").write_text(POOL.format(2, URL))
    flags = ("--jobs-per-day", "60", "--seconds-per-job", "1800", "--jobs", "50")
    done = mlctl("simulate", "pool", "pool.yml", *flags)
    assert done.code == 0, done.err
    assert "batch-pool/mine: 2 VMs, 60 jobs a day (at most 96 fit) of 30m00s" in done.out
    assert "A dedicated cluster costs less than the pool" in done.out


@pytest.mark.parametrize(
    ("vms", "flags", "told"),
    [
        (2, ("--jobs-per-day", "300"), "the queue grows without end"),
        (2, ("--jobs-per-day", "0"), "--jobs-per-day must be between 0.01"),
        (0, ("--jobs-per-day", "3"), "a pool without VMs runs no job"),
        (2, ("--jobs-per-day", "3", "--shared-arrivals", "9"), "say --shared-slots"),
        (2, ("--jobs-per-day", "3", "--size", "Standard_D4x_v5"), "is not known: say --price"),
    ],
)
def test_what_cannot_be_forecast_is_said_in_a_sentence(
    mlctl: Run, vms: int, flags: tuple[str, ...], told: str
) -> None:
    Path("pool.yml").write_text(POOL.format(vms, URL))
    done = mlctl("simulate", "pool", "pool.yml", "--seconds-per-job", "600", *flags)
    assert done.code == 1
    assert told in done.err
    assert "Traceback" not in done.err


SCHEMA = ROOT / "schemas" / "output" / "pool-forecast.schema.json"
FEW = ("--jobs-per-day", "60", "--seconds-per-job", "600", "--jobs", "20", "--runs", "4")


def test_a_forecast_of_a_pool_has_the_shape_of_its_schema(mlctl: Run) -> None:
    Path("pool.yml").write_text(POOL.format(2, URL))
    for more in ((), ("--exponential", "--shared-arrivals", "2")):
        found = mlctl("simulate", "pool", "pool.yml", *FEW, *more, "-o", "json").json
        Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)


def test_a_forecast_of_a_pool_is_a_page_and_a_table_too(mlctl: Run) -> None:
    Path("pool.yml").write_text(POOL.format(2, URL))
    page = mlctl("simulate", "pool", "pool.yml", *FEW, "-o", "html")
    assert page.out.startswith("<!doctype html>")
    for words in ("Waiting: shared queue", "A dedicated cluster costs less", "Assumptions"):
        assert words in page.out
    rows = list(
        csv.DictReader(io.StringIO(mlctl("simulate", "pool", "pool.yml", *FEW, "-o", "csv").out))
    )
    assert [row["name"] for row in rows][:2] == ["pool", "shared queue"]
    assert rows[1]["cost_per_month"] == ""


def test_a_forecast_of_a_pool_that_is_stopped_tells_what_it_has_learned(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out, left = PoolStudy.histories, iter(range(6))

    def until(study: PoolStudy, numbers: range) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return carried_out(study, numbers)

    monkeypatch.setattr(PoolStudy, "histories", until)
    Path("pool.yml").write_text(POOL.format(2, URL))
    done = mlctl("simulate", "pool", "pool.yml", *FEW, "-o", "json")
    assert done.code == 1
    assert "stopped: the numbers are of the histories that were carried out" in done.err
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(done.json)
    assert [row["runs"] for row in done.json["rows"]] == [3, 1, 1, 1]
    assert done.json["break_even_jobs_per_day"] is None

"""`mlctl advise`, from the shell: what it recommends, by which margin, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mlctl.forecast.batch.study import Study
from tests.builders.paths import ROOT
from tests.builders.shell import Run, edit

WORK = ("--files", "2000", "--seconds-per-file", "8")


def advised(mlctl: Run, sample: Path, *flags: str) -> Any:
    done = mlctl("advise", sample, *WORK, *flags, "-o", "json")
    assert done.code == 0, done.err
    return done.json


def storm(rate: float) -> str:
    """Weather whose every shock takes all nodes."""
    Path("storm.json").write_text(json.dumps({"shocks": {"per_hour": rate, "fraction": 1}}))
    return "storm.json"


def test_ranked_is_what_a_job_costs_that_gets_done(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=1,8", "--weather", storm(1.0), "--runs", "300")
    data = advised(mlctl, sample, *flags)
    best = data["rows"][data["recommended"]]
    assert best["settings"] == {"max_instances": 8, "instance_count": 8}
    one = next(row for row in data["rows"] if row["nodes"] == 2)  # as the files are
    assert one["cost"]["value"] < best["cost"]["value"]  # a run costs less that ends early
    assert one["until_done"]["cost"]["value"] > best["until_done"]["cost"]["value"]
    assert data["margin"]["now"]["low"] > 0


def test_a_calm_cloud_makes_no_difference_worth_telling(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "policy=resubmit,fallback:2", "--weather", "calm", "--runs", "100")
    told = mlctl("advise", sample, *WORK, *flags).out
    assert "Keep the current settings" in told


def test_a_deadline_rules_out_what_is_late(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=1,2,4,8", "--weather", "calm", "--deadline", "45m")
    data = advised(mlctl, sample, *flags, "--runs", "50")
    kept = {row["nodes"]: row["keeps"] for row in data["rows"]}
    assert not kept[2]
    assert data["rows"][data["recommended"]]["keeps"]


def test_what_nobody_can_keep_is_said(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=1,2", "--weather", "calm", "--max-cost", "0.0001")
    told = mlctl("advise", sample, *WORK, *flags, "--runs", "20").out
    assert "No configuration keeps what was asked for" in told


def test_what_is_not_always_done_is_never_recommended(mlctl: Run, sample: Path) -> None:
    """One run alone is cheaper wherever it is cancelled: nothing comes of it then."""
    flags = ("--vary", "policy=resubmit,once", "--vary", "max_instances=2")
    data = advised(mlctl, sample, *flags, "--weather", storm(0.5), "--runs", "60")
    assert not data["rows"][data["recommended"]]["until_done"]["not_done"]
    once = [point for point in data["points"] if point["settings"].get("policy") == "once"]
    assert [point["cost"] for point in once] == [None]


def test_where_nothing_is_always_done_none_is_recommended(mlctl: Run, sample: Path) -> None:
    size = "  mini_batch_size: 2\n"
    edit(sample / "deployment.yml", size, f"{size}  error_threshold: 0\n")
    flags = ("--vary", "policy=resubmit", "--weather", "calm", "--fail-probability", "1")
    done = mlctl("advise", sample, *WORK, *flags, "--runs", "10")
    assert done.code == 0, done.err
    assert "none is recommended" in done.out
    assert "P(failed)  P(not done)" in done.out
    page = mlctl("advise", sample, *WORK, *flags, "--runs", "10", "-o", "html")
    assert "none is recommended" in page.out
    data = advised(mlctl, sample, *flags, "--runs", "10")
    schema = json.loads((ROOT / "schemas" / "output" / "advice.schema.json").read_text())
    Draft202012Validator(schema).validate(data)


def test_a_timeout_grows_with_the_mini_batches(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "mini_batch_size=100", "--weather", "calm", "--runs", "20")
    rows = advised(mlctl, sample, *flags)["rows"]
    changed = next((row for row in rows if row["mini_batch_size"] == 100), None)
    assert changed is None or changed["settings"]["timeout"] == 1600


def test_a_patch_keeps_comments_and_layout(mlctl: Run, sample: Path) -> None:
    file = edit(sample / "low-pri-cluster.yml", "max_instances: 2", "max_instances:   2 # small")
    edit(sample / "deployment.yml", "  mini_batch_size: 2\n", "")
    before = file.read_text()
    flags = ("--vary", "max_instances=8", "--vary", "mini_batch_size=20", "--weather", storm(1.0))
    done = mlctl("advise", sample, *WORK, *flags, "--runs", "50", "--patch")
    assert done.code == 0, done.err
    assert file.read_text() == before.replace("  2 # small", "  8 # small")
    deployment = (sample / "deployment.yml").read_text()
    assert "  max_concurrency_per_instance: 2\n  mini_batch_size: 20\n" in deployment
    assert mlctl("validate", sample).code == 0


def test_one_seed_is_one_advice(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=2,4", "--runs", "100")
    assert advised(mlctl, sample, *flags) == advised(mlctl, sample, *flags, "--workers", "2")


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--vary", "size=1"), "`size` is none of max_instances"),
        (("--vary", "max_instances=0..4"), "write max_instances=1..32"),
        (("--vary", "max_instances=many"), "write max_instances=1..32"),
        (("--vary", "tier=free"), "a tier is one of"),
        (("--vary", "min_instances=-1..4"), "whole numbers from 0 on"),
        (("--vary", "max_instances=8..2"), "write max_instances=1..32"),
        (("--vary", "policy=hope"), "`hope` is no policy"),
    ],
)
def test_what_cannot_vary_is_refused_in_a_sentence(
    mlctl: Run, sample: Path, flags: tuple[str, ...], why: str
) -> None:
    done = mlctl("advise", sample, *WORK, *flags)
    assert done.code == 1
    assert why in done.err


SCHEMA = ROOT / "schemas" / "output" / "advice.schema.json"
QUICK = ("--weather", "calm", "--runs", "20")


def test_advice_has_the_shape_of_its_schema(mlctl: Run, sample: Path) -> None:
    schema = Draft202012Validator(json.loads(SCHEMA.read_text()))
    schema.validate(advised(mlctl, sample, *QUICK, "--deadline", "2h"))
    schema.validate(advised(mlctl, sample, *QUICK, "--max-cost", "0"))


def test_advice_is_a_page_with_a_point_for_each_configuration(mlctl: Run, sample: Path) -> None:
    flags = (*QUICK, "--vary", "max_instances=1,2,4,8")
    done = mlctl("advise", sample, *WORK, *flags, "-o", "html")
    assert done.code == 0, done.err
    assert done.out.startswith("<!doctype html>")
    assert done.out.count("<circle") == advised(mlctl, sample, *flags)["configurations"]
    assert done.out.count('class="best"') >= 1
    assert "cost until done" in done.out


def test_the_numbers_of_the_rows_stand_in_the_scatter(mlctl: Run, sample: Path) -> None:
    told = mlctl("advise", sample, *WORK, *QUICK, "--vary", "max_instances=1,2,8").out
    drawn = told.split("both scales are logarithmic.")[1].split("assumptions")[0]
    plot = [line.partition("│")[2] for line in drawn.splitlines() if "│" in line]
    assert {"1", "2"} <= set("".join(plot).split())


def test_a_configuration_that_the_quota_cannot_hold_is_told_and_not_recommended(
    mlctl: Run, sample: Path
) -> None:
    """4 cores a node: 3 nodes of 12 low-priority cores, and no more."""
    mlctl("local", "quota", "set", "--low-priority-cores", "12")
    flags = ("--vary", "max_instances=1,2,3,4,8", "--weather", storm(1.0), "--runs", "60")
    data = advised(mlctl, sample, *flags)
    assert {row["nodes"] for row in data["rows"]} <= {1, 2, 3}
    assert len(data["quota"]["over"]) == 2
    assert all("allows 12 low-priority cores" in one["why"] for one in data["quota"]["over"])
    told = mlctl("advise", sample, *WORK, *flags).out
    assert (
        "For 2 configurations, which were not tried, the quota is too small: eastus allows 12"
        in told
    )
    assert "Quotas are those of local/local (local backend)." in told


def test_what_there_is_is_told_where_the_quota_cannot_hold_it(mlctl: Run, sample: Path) -> None:
    mlctl("local", "quota", "set", "--low-priority-cores", "4")
    data = advised(mlctl, sample, "--vary", "max_instances=1", *QUICK)
    assert "jobs get at most 1 node, not 2" in data["rows"][0]["over_quota"]
    assert not data["rows"][0]["keeps"]
    assert data["rows"][data["recommended"]]["settings"] == {
        "max_instances": 1,
        "instance_count": 1,
    }


def test_the_documented_quotas_hold_where_no_workspace_answers(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=2,1000", *QUICK, "--backend", "azure")
    done = mlctl("advise", sample, *WORK, *flags, "-o", "json")
    assert done.code == 0, done.err
    assert "the quotas of the workspace are not known" in done.err
    assert "3000 low-priority cores" in done.json["quota"]["over"][0]["why"]


def test_a_timeout_that_ends_every_attempt_grows_instead_of_being_refused(
    mlctl: Run, sample: Path
) -> None:
    edit(sample / "deployment.yml", "timeout: 300", "timeout: 10")
    told = mlctl("advise", sample, *WORK, *QUICK, "--vary", "max_instances=2").out
    assert "Set timeout: 32" in told


def test_nodes_that_stay_are_paid_from_one_job_to_the_next(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "min_instances=0,2", *QUICK, "--price", "1", "--low-priority-ratio", "0.2")
    data = advised(mlctl, sample, *flags, "--jobs-per-month", "73")
    assert data["rows"][data["recommended"]]["min_instances"] == 0
    point = next(one for one in data["points"] if one["settings"] == {"min_instances": 2})
    # Two nodes at 0.2 USD an hour, 10 hours from job to job: what is worked is a part of that.
    assert point["cost"] == pytest.approx(2 * 0.2 * 10, rel=0.02)
    often = advised(mlctl, sample, *flags, "--jobs-per-month", "8000")
    assert often["rows"][often["recommended"]]["min_instances"] == 2


def test_more_at_once_is_recommended_with_what_it_rests_on(mlctl: Run, sample: Path) -> None:
    vary = ("--vary", "max_concurrency_per_instance=1,2,4")
    told = mlctl("advise", sample, *WORK, *QUICK, *vary).out
    assert "Set concurrency: 4" in told
    assert "4 mini-batches at once on a node do not slow each other down: measure" in told


def test_what_costs_more_and_keeps_a_wish_is_called_dearer(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=1,2,8", *QUICK, "--deadline", "45m")
    told = mlctl("advise", sample, *WORK, *flags).out
    assert "dearer than what there is" in told


def test_no_more_than_eight_configurations_are_shown(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15", *QUICK)
    data = advised(mlctl, sample, *flags)
    assert (len(data["rows"]), len(data["points"])) == (8, 15)


def test_a_patch_of_files_that_are_read_otherwise_is_refused(mlctl: Run, sample: Path) -> None:
    done = mlctl("advise", sample, *WORK, "--override", "compute.max_instances=4", "--patch")
    assert done.code == 1
    assert "--override reads the files otherwise, --patch writes them" in done.err


def test_a_patch_is_followed_by_its_plan(mlctl: Run, sample: Path) -> None:
    mlctl("apply", sample, "--yes")
    flags = ("--vary", "max_instances=8", "--weather", storm(1.0), "--runs", "50", "--patch")
    done = mlctl("advise", sample, *WORK, *flags)
    assert done.code == 0, done.err
    assert "max_instances: 2 -> 8" in done.out
    assert mlctl("advise", sample, *WORK, *flags).code == 0


def test_a_patch_without_a_workspace_says_that_there_is_no_plan(mlctl: Run, sample: Path) -> None:
    flags = ("--vary", "max_instances=8", "--weather", storm(1.0), "--runs", "50", "--patch")
    done = mlctl("advise", sample, *WORK, *flags, "--backend", "azure")
    assert done.code == 0, done.err
    assert "max_instances: 8" in (sample / "low-pri-cluster.yml").read_text()
    assert "there is no plan of that, for the workspace cannot be read" in done.err


def test_advice_that_is_stopped_tells_what_it_has_learned_and_writes_nothing(
    mlctl: Run, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out, left = Study.histories, iter(range(50))

    def until(study: Study, numbers: range) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return carried_out(study, numbers)

    monkeypatch.setattr(Study, "histories", until)
    before = (sample / "low-pri-cluster.yml").read_text()
    flags = ("--vary", "max_instances=1,2,4", "--weather", storm(1.0), "--patch")
    done = mlctl("advise", sample, *WORK, *flags, "-o", "json")
    assert done.code == 1
    assert "stopped: the numbers are of the histories" in done.err
    assert 60 < sum(one["runs"] for one in done.json["points"]) / 3 < 250
    assert (sample / "low-pri-cluster.yml").read_text() == before


def test_regions_and_sizes_are_compared_by_their_prices(mlctl: Run, sample: Path) -> None:
    """The same luck everywhere: what differs is what a node costs."""
    flags = (*QUICK, "--vary", "tier", "--regions", "eastus,westus3,westcentralus")
    done = mlctl("advise", sample, *WORK, *flags)
    assert "considered" in done.out
    data = advised(mlctl, sample, *flags)
    options = {(one["region"], one["tier"]): one for one in data["options"]}
    times = {
        one["until_done"]["time_s"]["value"]
        for (_, tier), one in options.items()
        if tier == "dedicated"
    }
    assert len(times) == 1
    costs = [one["until_done"]["cost"]["value"] / one["price"] for one in options.values()]
    assert len({round(cost, 6) for cost in costs}) <= 2
    cheapest = min(options.values(), key=lambda one: one["until_done"]["cost"]["value"])
    if cheapest["region"] != "eastus":
        assert data["rows"][data["recommended"]]["settings"]["location"] == cheapest["region"]


def test_sizes_alike_have_the_same_cores_and_memory(mlctl: Run, sample: Path) -> None:
    data = advised(mlctl, sample, *QUICK, "--vary", "tier", "--sizes", "alike")
    assert len({one["size"] for one in data["options"]}) > 1
    assert all(one["over_quota"] is None for one in data["options"])


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--regions", "mars"), "`mars` is no region"),
        (("--sizes", "Standard_Nope"), "the size `Standard_Nope` is not known"),
        (("--sizes", "alike", "--price", "1"), "are of one size in one region"),
        (("--vary", "policy=deadline"), "needs a --deadline"),
    ],
)
def test_what_cannot_be_tried_is_refused(
    mlctl: Run, sample: Path, flags: tuple[str, ...], why: str
) -> None:
    done = mlctl("advise", sample, *WORK, *QUICK, *flags)
    assert (done.code, why in done.err) == (1, True), done.err


def test_eviction_rates_are_a_column_where_the_price_list_has_some(
    mlctl: Run, sample: Path
) -> None:
    head = "# source: mine\n# as_of: 2026-11-01\nsize,region,dedicated,spot,eviction_rate\n"
    rows = "Standard_DS3_v2,eastus,0.3,0.03,\nStandard_DS3_v2,westus3,0.2,0.02,5-10\n"
    Path("mine.csv").write_text(head + rows)
    asked = ("advise", sample, *WORK, "--regions", "westus3", "--runs", "20")
    lines = mlctl(*asked, "--price-file", "mine.csv").out.splitlines()
    (title,) = (line for line in lines if "evictions an hour" in line)
    rates = [line for line in lines if "5-10 %" in line]
    assert "considered" in title
    assert rates
    assert all("westus3" in line and "low-priority" in line for line in rates)
    assert "evictions an hour" not in mlctl(*asked).out

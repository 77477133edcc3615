"""The monthly cost of a plan: for people, for pull requests and for programs."""

from __future__ import annotations

from typing import Any

from mlctl.planning.cost import of_plan
from mlctl.render.plan import blocks as render
from mlctl.render.plan import cost, markdown, plan_json
from tests.builders.plans import plan, workspace
from tests.builders.resources import CLUSTER, ENDPOINT

SPOT = f"{CLUSTER}size: Standard_DS3_v2\ntier: low_priority\nmax_instances: 2\n"
FULL = SPOT.replace("cpu-cluster", "full").replace("low_priority", "dedicated")
ODD = f"{CLUSTER}size: Standard_D4x_v5\nmin_instances: 1\n".replace("cpu-cluster", "odd")


def human(*texts: str, before: tuple[str, ...] = (), width: int = 100) -> str:
    """What stands after the line that counts."""
    made = plan(*texts, backend=workspace(*before)).plan
    return render.human(made, width=width).partition("Plan: ")[2].partition("\n")[2].strip()


def document(*texts: str, before: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = plan_json.document(plan(*texts, backend=workspace(*before)).plan)[
        "monthly_cost"
    ]
    return found


def test_a_cluster_has_a_line_and_the_prices_have_a_date_and_a_source() -> None:
    heads, line, *note = human(SPOT).splitlines()
    assert heads.split() == ["Monthly", "cost", "of", "nodes", "floor", "ceiling"]
    assert " ".join(line.split()) == (
        "compute/cpu-cluster 0.00 (no change) 47.06 (+47.06) Standard_DS3_v2 low priority"
    )
    text = (
        "Floor: 730 hours with min_instances; ceiling: with max_instances. USD, Linux, pay as you"
        " go, eastus, 2024-08-26 (Azure's retail prices, by SkyPilot's catalogue); low priority is"
        " Spot since 2026-03-31, at a price that moves."
    )
    assert " ".join(note).startswith(text)


def test_nothing_is_said_of_spot_where_all_nodes_are_dedicated() -> None:
    assert "Spot" not in human(FULL)


def test_several_clusters_have_a_total_and_the_unchanged_are_in_it() -> None:
    more = SPOT.replace("max_instances: 2", "max_instances: 3")
    lines = [" ".join(line.split()) for line in human(more, FULL, before=(SPOT, FULL)).splitlines()]
    assert lines[1:4] == [
        "compute/cpu-cluster 0.00 (no change) 70.58 (+23.53) Standard_DS3_v2 low priority",
        "1 unchanged 0.00 (no change) 427.78 (no change)",
        "total 0.00 (no change) 498.36 (+23.53)",
    ]


def test_what_is_unknown_is_called_unknown_and_the_sum_says_what_it_leaves_out() -> None:
    lines = [" ".join(line.split()) for line in human(SPOT, ODD).splitlines()]
    assert lines[2] == "compute/odd unknown unknown Standard_D4x_v5, no price known in eastus"
    assert lines[3] == "total 0.00 (no change) 47.06 (+47.06) without compute/odd"


def test_a_sum_names_no_more_than_three_that_it_leaves_out() -> None:
    lines = human(*(ODD.replace("odd", f"odd{number}a") for number in range(5))).splitlines()
    assert lines[6].endswith("without compute/odd0a, compute/odd1a, compute/odd2a, ...")


def test_a_pair_that_no_list_has_is_unknown_not_the_price_of_another_region() -> None:
    assert "no price known in westeurope" in human(f"{SPOT}location: westeurope\n", width=200)


def test_many_clusters_are_summed_up_after_the_first_twenty() -> None:
    many = [SPOT.replace("cpu-cluster", f"c{number}a") for number in range(23)]
    lines = human(*many, width=200).splitlines()
    assert lines[21].split()[:3] == ["and", "3", "more"]
    assert lines[22].split()[0] == "total"


def test_no_line_is_longer_than_a_narrow_terminal_where_it_can_be_broken() -> None:
    lines = human(SPOT, width=60).split("info[")[0].splitlines()[2:]
    assert max(map(len, lines)) <= 60


def test_a_plan_without_nodes_says_nothing_of_them() -> None:
    assert "Monthly" not in human(ENDPOINT)
    assert "monthly" not in markdown.plan(plan(ENDPOINT).plan)


def test_a_pull_request_has_a_table() -> None:
    text = markdown.plan(plan(SPOT).plan)
    assert "\n| monthly cost of nodes | floor | change | ceiling | change | |\n" in text
    assert (
        "\n| `compute/cpu-cluster` | 0.00 | (no change) | 47.06 | (+47.06)"
        " | Standard_DS3_v2 low priority |\n"
    ) in text


def test_no_cell_of_the_table_ends_early() -> None:
    made = plan(SPOT.replace("Standard_DS3_v2", '"a|b"')).plan
    (line,) = [one for one in cost.markdown(of_plan(made)) if "cpu-cluster" in one]
    assert "`a\\|b` low priority, no price known" in line


def test_programs_read_numbers_and_null_for_what_is_unknown() -> None:
    found = document(SPOT, ODD, before=(SPOT,))
    assert found["before"] == {"floor": 0.0, "ceiling": 47.06}
    assert found["after"] == {"floor": None, "ceiling": None}
    assert [one["tier"] for one in found["resources"]] == ["low_priority", "dedicated"]
    assert found["prices"]["as_of"] == "2024-08-26"
    assert {one["region"] for one in found["resources"]} == {"eastus"}
    assert (found["currency"], found["hours"]) == ("USD", 730)


def test_nodes_that_do_not_scale_are_said_to_count_in_floor_and_ceiling() -> None:
    fixed = f"{SPOT}min_instances: 2\n"
    assert "in both" in " ".join(human(fixed).split())
    assert "in both" not in " ".join(human(SPOT).split())


def test_a_size_of_a_stranger_is_code() -> None:
    wild = '"<img-src=x>@octocat"'
    made = plan(SPOT.replace("Standard_DS3_v2", wild)).plan
    (line,) = [row for row in cost.markdown(of_plan(made)) if "cpu-cluster" in row]
    assert "| `<img-src=x>@octocat` low priority, no price known" in line

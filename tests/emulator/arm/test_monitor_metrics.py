"""Azure Monitor's answers about clusters."""

from __future__ import annotations

import pytest

from tests.builders.emulator import WS, Answer, with_deployment

AT = f"{WS}/providers/Microsoft.Insights/metrics?api-version=2018-01-01"
FILTER = "&$filter=ClusterName%20eq%20'cpu'"


def asked(more: str) -> Answer:
    """What is said about metrics of a workspace with an idle cluster."""
    return with_deployment().get(AT + more)


def test_a_metric_of_a_cluster_has_what_was_asked_for() -> None:
    said = asked(f"{FILTER}&metricnames=Idle%20Nodes,Total%20Cores&aggregation=Average,Total").data
    assert [one["name"]["value"] for one in said["value"]] == ["Idle Nodes", "Total Cores"]
    (series,) = said["value"][0]["timeseries"]
    assert {*series["data"][0]} == {"timeStamp", "average", "total"}
    assert said["interval"] == "PT1M"


def test_an_interval_is_as_long_as_was_asked_for() -> None:
    said = asked(f"{FILTER}&interval=PT1H").data
    assert said["interval"] == "PT1H"
    assert len(said["value"][0]["timeseries"][0]["data"]) == 1


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("", 200),
        ("&$filter=Scenario%20eq%20'x'", 400),
        (f"{FILTER}&interval=often", 400),
        (f"{FILTER}&timespan=yesterday", 400),
        (f"{FILTER}&metricnames=Foo", 400),
        ("&$filter=ClusterName%20eq%20'none'", 404),
    ],
)
def test_a_filter_is_of_a_cluster_that_is_there_and_a_length_is_one(more: str, status: int) -> None:
    assert asked(more).status == status

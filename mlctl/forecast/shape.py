"""The types of a batch forecast as data: `schemas/output/forecast.schema.json`."""

from __future__ import annotations

from typing import TypedDict

from mlctl.pointer import Data


class EstimateData(TypedDict):
    """A number and its 95 % interval; None if there is no bound."""

    value: float
    low: float | None
    high: float | None


class QuantilesData(TypedDict):
    """The times of first runs that completed."""

    p5: EstimateData
    p50: EstimateData
    p95: EstimateData


class CostData(TypedDict):
    """The cost of the first run, in USD."""

    mean: EstimateData
    p95: EstimateData


class StartData(TypedDict):
    """The means of the histories that began with nodes available; None if none did."""

    cost: EstimateData | None
    time_s: EstimateData | None


class UntilDoneData(TypedDict):
    """All runs under the policy; means are of the histories in which the job is done.

    What is never done is later than any quantile; `spent` is what was paid for it, in USD. The
    means rest on `carried_by` histories: few, if a few of them are far from the others. Those that
    are `hopeless` were given up before day 90.
    """

    cost: EstimateData | None
    time_s: EstimateData | None
    time_p95_s: EstimateData | None
    runs: float
    not_done: int
    p_not_done: EstimateData
    spent: float | None
    carried_by: int
    hopeless: int
    p_dedicated: EstimateData
    p_waited: EstimateData
    if_available: StartData


class BarData(TypedDict):
    """How many first runs took so long."""

    from_s: float
    to_s: float
    runs: int


class CurveData(TypedDict):
    """By when a share of the jobs is done; None if it never is."""

    share: float
    time_s: float | None


class SummaryData(TypedDict):
    """The summary of a row's histories."""

    runs: int
    completed: int
    completion_s: QuantilesData | None
    late: EstimateData | None
    cancelled: EstimateData
    failed: EstimateData
    cost: CostData
    until_done: UntilDoneData
    preempted_nodes: float
    preempted_cores: float
    lost_node_hours: float
    attempts: float
    failed_mini_batches: float
    histogram: list[BarData]
    curve: list[CurveData]


class RowData(SummaryData):
    """Low priority in one weather, or dedicated."""

    name: str
    tier: str
    weather: dict[str, Data] | None
    policy: str
    path: str
    path_reason: str | None


class ScenarioData(TypedDict):
    """The scenario of the forecast."""

    deployment: str
    cluster: str
    tier: str
    size: str
    cores: int
    files: int
    mini_batch_size: int
    mini_batches: int
    nodes: int
    concurrency: int
    seconds_per_file: float
    seconds_per_mini_batch: float
    cv: float
    fail_probability: float
    price: float
    low_priority_price: float


class SpellData(TypedDict):
    """What a node did for a while."""

    state: str
    from_s: float
    to_s: float


class NodeData(TypedDict):
    """A node and what it did."""

    node: int
    spells: list[SpellData]


class TimelineData(TypedDict):
    """The first run of one history."""

    row: str
    quantile: str
    run: int
    seconds: float
    nodes: list[NodeData]


class OutlookData(TypedDict):
    """A tier's numbers in the sentence."""

    time_s: float | None
    time_p95_s: float | None
    cost: float | None
    cancelled: EstimateData
    late: EstimateData | None
    not_done: int
    p_not_done: EstimateData
    spent: float | None


class RateEndData(TypedDict):
    """A possible Spot price, in USD per hour, and the main row's cost until done at it."""

    usd: float
    cost: float | None


class RateData(TypedDict):
    """The Spot price of the main row; None if not stated."""

    usd: float
    as_of: str | None
    low: RateEndData | None
    high: RateEndData | None


class SentenceData(TypedDict):
    """The numbers of the summary sentence."""

    row: str | None
    low_priority: OutlookData | None
    dedicated: OutlookData | None
    rate: RateData | None


class AssumptionData(TypedDict):
    """An assumption of the forecast; `source` is explained in the schema."""

    name: str
    value: Data
    source: str
    why: str


class SideData(TypedDict):
    """The effect of another value of an assumption."""

    value: Data
    cancelled: EstimateData
    p_not_done: EstimateData
    cost: float | None
    time_s: float | None
    cost_difference: EstimateData | None
    time_difference_s: EstimateData | None


class SwingData(TypedDict):
    """An assumption from low to high."""

    name: str
    value: Data
    low: SideData
    high: SideData


Forecast = TypedDict(
    "Forecast",
    {
        "$schema": str,
        "seed": int,
        "deadline_s": float | None,
        "scenario": ScenarioData,
        "rows": list[RowData],
        "timelines": list[TimelineData],
        "sentence": SentenceData,
        "assumptions": list[AssumptionData],
        "sensitivity": list[SwingData] | None,
    },
)

"""Metrics of clusters, through Azure Monitor's REST API."""

from __future__ import annotations

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.backends.ports.monitor import DEFAULT_METRICS
from mlctl.kinds.address import Address
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane import disruptions
from mlctl.simulator.control_plane.state.store import Store
from mlctl.simulator.engine.processes import LossScript
from mlctl.workload import Workload
from tests.builders.azure import SCOPE, Azure, Between, azure, emulated, says
from tests.builders.bodies import cluster as body
from tests.builders.bodies import deployment, endpoint, model

CPU = Address("compute", "cpu-cluster")
MODEL = Address("model", "heart", None, "1")
MONITOR = "GET */metrics"


def lossy() -> Azure:
    """A cluster that lost two nodes of four cores in half an hour."""
    store = Store(":memory:")
    local = LocalBackend(store, SCOPE)
    local.put(CPU, body(2, "LowPriority")).wait()
    local.put(MODEL, model()).wait()
    local.put(Address("batch-endpoint", "heart-batch"), endpoint()).wait()
    local.put(Address("batch-deployment", "blue", "heart-batch"), deployment(SCOPE)).wait()
    disruptions.configure(local.handle, {"allocation_s": 0, "preparation_s": 0})
    disruptions.set_preemption(local.handle, (LossScript(((100.0, 0), (700.0, 1))),))
    long = {"retrySettings": {"timeout": "PT1H"}}
    asked = {"miniBatchSize": 1, "compute": {"instanceCount": 2}, **long}
    local.jobs.invoke(
        "heart-batch", "blue", asked, Workload(files=60, seconds_per_file=60), "default"
    )
    local.wait(1800)
    return azure(emulated(store))


def test_what_was_lost_is_counted_in_nodes_and_cores() -> None:
    found = lossy().backend.metrics(CPU, DEFAULT_METRICS, interval=300.0)
    assert {one.name: sum(each.total for each in one.intervals) for one in found} == {
        "Preempted Nodes": 2,
        "Preempted Cores": 8,
    }
    assert {one.seconds for one in found} == {300}


def test_a_span_is_by_the_clock_of_the_service() -> None:
    (found,) = lossy().backend.metrics(CPU, ["Preempted Nodes"], interval=300.0, span=900.0)
    assert sum(each.total for each in found.intervals) == 0
    assert len(found.intervals) in (3, 4)


def test_a_cluster_or_metric_that_is_not_there_is_an_error() -> None:
    backend = lossy().backend
    with pytest.raises(NotFound):
        backend.metrics(Address("compute", "nothing"), DEFAULT_METRICS)
    with pytest.raises(Permanent, match="Foo"):
        backend.metrics(CPU, ["Foo"])


def test_a_metric_that_monitor_could_not_read_is_an_error() -> None:
    wrong = {"name": {"value": "X"}, "errorCode": "InvalidSamplingType", "errorMessage": "no"}
    here = azure(Between(emulated(), [(MONITOR, says(200, {"value": [wrong]}))]))
    with pytest.raises(Permanent, match="no"):
        here.backend.metrics(CPU, DEFAULT_METRICS)


def test_what_was_not_measured_counts_as_nothing() -> None:
    data = [{"timeStamp": "2026-01-01T00:00:00Z"}]
    metric = {"name": {"value": "Preempted Nodes"}, "timeseries": [{"data": data}]}
    here = azure(Between(emulated(), [(MONITOR, says(200, {"value": [metric]}))]))
    (found,) = here.backend.metrics(CPU, DEFAULT_METRICS)
    assert [each.total for each in found.intervals] == [0]

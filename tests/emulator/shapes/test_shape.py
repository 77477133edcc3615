"""A shape renders what is stored as the service does: order, nulls, what waits, what came later."""

from __future__ import annotations

import pytest

from mlctl.emulator import EmulatorSettings, Request
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes.assets import MODEL
from mlctl.emulator.shapes.endpoints import ONLINE_DEPLOYMENT, ONLINE_ENDPOINT
from mlctl.emulator.shapes.shape import (
    Occasion,
    Phase,
    Shape,
    always,
    as_sent,
    if_any,
    if_set,
    omitted,
    once_created,
    or_null,
    otherwise,
    render,
    section,
    since,
    stored,
    time,
    until,
    when_done,
)
from mlctl.pointer import Data
from mlctl.simulator.control_plane.faults import OperationStyle
from mlctl.simulator.control_plane.state.blob_store import BlobStore
from mlctl.simulator.control_plane.state.store import Store

OF_PREVIEWS = {"autoDeleteSetting", "intellectualProperty"}


def occasion(version: str = "2024-04-01", phase: Phase = Phase.DONE) -> Occasion:
    store = Store(":memory:")
    request = Request.to("GET", f"https://any/?api-version={version}")
    settings = EmulatorSettings()
    names = {"subscription": "s", "group": "rg", "workspace": "ws"}
    call = Call(request, "", names, store, BlobStore(store), settings, OperationStyle.ASYNC)
    return Occasion(call, phase=phase)


def told(shape: Shape, stored: dict[str, Data], **more: Data) -> dict[str, Data]:
    return render(shape, stored, occasion(**more))


def test_keys_come_in_the_order_of_the_shape_and_what_it_does_not_know_follows() -> None:
    shape = {"b": stored, "a": stored}
    assert list(told(shape, {"z": 1, "a": 2, "b": 3}).items()) == [("b", 3), ("a", 2), ("z", 1)]


def test_what_is_not_stored_is_null_or_left_out_or_a_value_of_the_services() -> None:
    shape = {
        "null": stored,
        "gone": if_set,
        "own": otherwise({}),
        "empty": or_null,
        "inside": section({"a": stored}),
        "none": if_any({"a": stored}),
        "no key": if_any({"a": stored}, omitted),
    }
    assert told(shape, {"empty": {}}) == {
        "null": None,
        "own": {},
        "empty": None,
        "inside": {"a": None},
        "none": None,
    }


@pytest.mark.parametrize(
    ("phase", "created", "done"),
    [(Phase.CREATING, None, None), (Phase.CHANGING, 1, None), (Phase.DONE, 1, 1)],
)
def test_some_keys_wait(phase: Phase, created: Data, done: Data) -> None:
    shape = {"a": once_created(stored), "b": when_done(stored), "c": when_done(stored, omitted)}
    body = told(shape, {"a": 1, "b": 1, "c": 1}, phase=phase)
    assert (body["a"], body["b"], "c" in body) == (created, done, done is not None)


def test_while_an_operation_goes_on_a_key_may_tell_only_what_was_sent() -> None:
    shape = {"in": section({"a": as_sent(stored), "b": as_sent(stored, always("No"))})}
    values = {"in": {"a": 1, "b": 2}}
    assert render(shape, values, occasion(phase=Phase.CHANGING), {"in": {"a": 7}}) == {
        "in": {"a": 1, "b": "No"}
    }
    assert render(shape, values, occasion(), {"in": {"a": 7}}) == values


@pytest.mark.parametrize(
    ("version", "keys"),
    [("2022-05-01", ["old"]), ("2023-04-01-preview", ["new"]), ("2024-04-01", ["new"])],
)
def test_keys_come_and_go_with_the_api_version(version: str, keys: list[str]) -> None:
    shape = {"new": since("2023-04-01", stored), "old": until("2023-04-01", stored)}
    assert list(told(shape, {"new": 1, "old": 1}, version=version)) == keys


@pytest.mark.parametrize(
    ("version", "shape", "absent"),
    [
        ("2022-05-01", ONLINE_ENDPOINT, {"mirrorTraffic", "publicNetworkAccess"}),
        ("2022-10-01", ONLINE_ENDPOINT, {"mirrorTraffic"}),
        ("2022-02-01-preview", ONLINE_ENDPOINT, set()),
        ("2024-04-01", ONLINE_ENDPOINT, set()),
        ("2023-10-01", ONLINE_DEPLOYMENT, {"dataCollector", "privateNetworkConnection"}),
        ("2024-04-01", ONLINE_DEPLOYMENT, {"privateNetworkConnection"}),
        ("2022-05-01", MODEL, {"stage", "provisioningState", *OF_PREVIEWS}),
        ("2024-04-01", MODEL, OF_PREVIEWS),
        ("2024-04-01-preview", MODEL, set()),
        ("2024-07-01-preview", MODEL, OF_PREVIEWS),
    ],
)
def test_keys_are_those_of_the_models_of_the_version(
    version: str, shape: Shape, absent: set[str]
) -> None:
    every = {"modelUri": "azureml://x", "sku": {"capacity": 1}, "codeConfiguration": None}
    body = render(shape, {"properties": every}, occasion(version))
    known = {
        *("mirrorTraffic", "publicNetworkAccess") * (shape is ONLINE_ENDPOINT),
        *("dataCollector", "privateNetworkConnection") * (shape is ONLINE_DEPLOYMENT),
        *("stage", "provisioningState", *OF_PREVIEWS) * (shape is MODEL),
    }
    assert known - body["properties"].keys() == absent


@pytest.mark.parametrize(
    ("stored", "spelt"),
    [
        ("2024-07-24T08:52:31.067Z", "2024-07-24T08:52:31.067+00:00"),
        ("2024-07-24T08:52:31.500Z", "2024-07-24T08:52:31.5+00:00"),
        ("2024-07-24T08:52:31.000Z", "2024-07-24T08:52:31+00:00"),
        (None, None),
    ],
)
def test_times_are_spelt_as_dotnet_does(stored: Data, spelt: Data) -> None:
    assert told({"at": time}, {"at": stored}) == {"at": spelt}

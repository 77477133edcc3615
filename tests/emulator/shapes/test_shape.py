"""A shape renders what is stored as the service does: order, nulls, what waits, what came later."""

from __future__ import annotations

import pytest

from mlctl.emulator import EmulatorSettings, Request
from mlctl.emulator.requests.call import Call
from mlctl.emulator.shapes import shape as shapes
from mlctl.emulator.shapes.shape import Occasion, Phase, named, render, shape_of
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


def told(shape: dict[str, Data], stored: dict[str, Data], **more: Data) -> dict[str, Data]:
    return render(shape_of(shape), stored, occasion(**more))


def test_keys_come_in_the_order_of_the_shape_and_what_it_does_not_know_follows() -> None:
    answer = told({"b": "stored", "a": "stored"}, {"z": 1, "a": 2, "b": 3})
    assert list(answer.items()) == [("b", 3), ("a", 2), ("z", 1)]


def test_a_shape_may_begin_with_the_keys_of_another_and_say_otherwise() -> None:
    answer = told(
        {"like": "system-data", "createdBy, by": 'always "us"'}, {"createdByType": "User"}
    )
    assert list(answer)[:3] == ["createdAt", "createdBy", "createdByType"]
    assert (answer["createdBy"], answer["createdByType"], answer["by"]) == ("us", "User", "us")


def test_what_is_not_stored_is_null_or_left_out_or_a_value_of_the_services() -> None:
    shape = {
        "null": "stored",
        "gone": "if_set",
        "own": "or {}",
        "rule": "or null",
        "empty": "filled | stored",
        "inside": {"a": "stored"},
        "none": "filled | in limits",
        "no key": "filled else omitted | in limits",
    }
    assert told(shape, {"empty": {}}) == {
        "null": None,
        "own": {},
        "rule": None,
        "empty": None,
        "inside": {"a": None},
        "none": None,
    }


@pytest.mark.parametrize(
    ("phase", "created", "done"),
    [(Phase.CREATING, None, None), (Phase.CHANGING, 1, None), (Phase.DONE, 1, 1)],
)
def test_some_keys_wait(phase: Phase, created: Data, done: Data) -> None:
    shape = {"a": "created | stored", "b": "done | stored", "c": "done else omitted | stored"}
    body = told(shape, {"a": 1, "b": 1, "c": 1}, phase=phase)
    assert (body["a"], body["b"], "c" in body) == (created, done, done is not None)


def test_while_an_operation_goes_on_a_key_may_tell_only_what_was_sent() -> None:
    shape = shape_of({"in": {"a, b": "as_sent"}})
    values = {"in": {"a": 1, "b": 2}}
    assert render(shape, values, occasion(phase=Phase.CHANGING), {"in": {"a": 7}}) == {
        "in": {"a": 1, "b": None}
    }
    assert render(shape, values, occasion(), {"in": {"a": 7}}) == values


@pytest.mark.parametrize(
    ("version", "keys"),
    [
        ("2022-05-01", ["old"]),
        ("2023-04-01-preview", ["new", "preview"]),
        ("2023-10-01-preview", ["new"]),
        ("2024-04-01", ["new"]),
    ],
)
def test_keys_come_and_go_with_the_api_version(version: str, keys: list[str]) -> None:
    shape = {
        "new": "since 2023-04-01 | stored",
        "preview": "preview 2023-04-01 end 2023-10 | stored",
        "old": "since 2023-04-01 else stored | omitted",
    }
    assert list(told(shape, dict.fromkeys(shape, 1), version=version)) == keys


@pytest.mark.parametrize("text", ["unknown", "unknown | stored", "in unknown", "or {"])
def test_a_shape_that_names_what_there_is_not_is_refused(text: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        shape_of({"a": text})


def test_every_shape_of_the_file_can_be_read() -> None:
    for name, content in shapes._table().items():
        assert isinstance(content, str) or named(name), name


@pytest.mark.parametrize(
    ("version", "shape", "absent"),
    [
        ("2022-05-01", "online-endpoint", {"mirrorTraffic", "publicNetworkAccess"}),
        ("2022-10-01", "online-endpoint", {"mirrorTraffic"}),
        ("2022-02-01-preview", "online-endpoint", set()),
        ("2024-04-01", "online-endpoint", set()),
        ("2023-10-01", "online-deployment", {"dataCollector", "privateNetworkConnection"}),
        ("2024-04-01", "online-deployment", {"privateNetworkConnection"}),
        ("2022-05-01", "model", {"stage", "provisioningState", *OF_PREVIEWS}),
        ("2024-04-01", "model", OF_PREVIEWS),
        ("2024-04-01-preview", "model", set()),
        ("2024-07-01-preview", "model", OF_PREVIEWS),
    ],
)
def test_keys_are_those_of_the_models_of_the_version(
    version: str, shape: str, absent: set[str]
) -> None:
    every = {"modelUri": "azureml://x", "sku": {"capacity": 1}, "codeConfiguration": None}
    body = render(named(shape), {"properties": every}, occasion(version))
    known = {
        *("mirrorTraffic", "publicNetworkAccess") * (shape == "online-endpoint"),
        *("dataCollector", "privateNetworkConnection") * (shape == "online-deployment"),
        *("stage", "provisioningState", *OF_PREVIEWS) * (shape == "model"),
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
    assert told({"at": "time"}, {"at": stored}) == {"at": spelt}

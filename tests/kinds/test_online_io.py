"""Values of online deployments, on the wire and in YAML."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mlctl.kinds import codec
from mlctl.kinds.address import Scope
from mlctl.kinds.field import Field
from mlctl.kinds.records.online_deployment import KIND as ONLINE_DEPLOYMENT
from mlctl.pointer import Data

SCOPE = Scope("s", "g", "w")


def field(*at: str) -> Field:
    found = ONLINE_DEPLOYMENT.forms[-1].field(at)
    assert found is not None
    return found


TIMEOUT = field("request_settings", "request_timeout_ms")
COLLECTED = field("data_collector")


@pytest.mark.parametrize(
    ("milliseconds", "iso"), [(5000, "PT5S"), (90_000, "PT1M30S"), (1, "PT0.001S"), (500, "PT0.5S")]
)
def test_milliseconds_are_durations_on_the_wire(milliseconds: int, iso: str) -> None:
    assert codec.encode(milliseconds, TIMEOUT, SCOPE) == iso
    assert codec.decode(iso, TIMEOUT, SCOPE) == milliseconds


@given(st.integers(0, 10**9))
@example(2042)
@example(1007)
def test_every_number_of_milliseconds_comes_back(milliseconds: int) -> None:
    assert codec.decode(codec.encode(milliseconds, TIMEOUT, SCOPE), TIMEOUT, SCOPE) == milliseconds


@pytest.mark.parametrize("odd", [None, "soon", 5])
def test_what_is_no_duration_stays_as_it_is(odd: Data) -> None:
    assert codec.decode(odd, TIMEOUT, SCOPE) == odd


def test_each_collection_has_the_rate_of_the_whole_and_its_data_by_id() -> None:
    said = {
        "collections": {"request": {"enabled": "True", "data": "azureml:kept:2", "client_id": "c"}},
        "rolling_rate": "DAY",
        "sampling_rate": 0.25,
        "request_logging": {"capture_headers": ["x"]},
    }
    sent = codec.encode(said, COLLECTED, SCOPE)
    assert sent == {
        "collections": {
            "request": {
                "dataCollectionMode": "Enabled",
                "samplingRate": 0.25,
                "dataId": f"{SCOPE.id}/data/kept/versions/2",
                "clientId": "c",
            }
        },
        "rollingRate": "Day",
        "requestLogging": {"captureHeaders": ["x"]},
    }
    back = codec.decode(sent, COLLECTED, SCOPE)
    assert back["collections"]["request"]["data"] == "azureml:kept:2"
    assert not codec.differ(said, back, COLLECTED, SCOPE)


def test_silence_about_rates_is_what_the_service_takes() -> None:
    said = {"collections": {"a": {"enabled": True, "data": "azureml:kept:1"}}}
    told = {**said, "rolling_rate": "hour", "sampling_rate": 1.0}
    assert not codec.differ(said, told, COLLECTED, SCOPE)
    assert codec.differ(said, {**told, "sampling_rate": 0.5}, COLLECTED, SCOPE)
    off = {"collections": {"a": {"enabled": "false", "data": "azureml:kept:1"}}}
    assert codec.differ(said, off, COLLECTED, SCOPE)

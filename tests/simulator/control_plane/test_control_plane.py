"""The pure parts of the simulated cloud: spellings, sizes, quotas' words, faults' patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlctl import catalog
from mlctl.kinds.address import Address
from mlctl.simulator.control_plane import faults
from mlctl.simulator.control_plane.faults import Fault, Trouble
from mlctl.simulator.control_plane.resources import body, operations
from mlctl.simulator.control_plane.resources.vm_sizes import size_of
from mlctl.simulator.control_plane.state import clock, settings
from mlctl.simulator.control_plane.state.errors import (
    Refusal,
    bad,
    busy,
    conflict,
)
from mlctl.simulator.control_plane.state.settings import (
    Delays,
    Immutable,
    InUse,
    Settings,
)


@pytest.mark.parametrize(
    ("written", "respelt"),
    [
        ("PT2M", "PT120S"),
        ("PT120S", "PT120S"),
        ("P0Y0M0DT0H2M0S", "PT120S"),
        ("pt1m30.5s", "PT90.5S"),
        ("P1DT1H", "PT90000S"),
        ("P1W", "PT604800S"),
        ("PT0S", "PT0S"),
    ],
)
def test_a_duration_is_respelt_in_seconds(written: str, respelt: str) -> None:
    assert body.duration(written, "idle") == respelt


@pytest.mark.parametrize("wrong", ["P", "PT", "P1DT", "2m", "00:02:00", 120, None, "", "PT-1S"])
def test_what_is_no_duration_is_refused(wrong: object) -> None:
    with pytest.raises(Refusal, match="`idle` must be an ISO 8601 duration"):
        body.duration(wrong, "idle")


@given(st.integers(0, 10**9))
def test_a_respelt_duration_stays_as_it_is(seconds: int) -> None:
    once = body.duration(f"PT{seconds}S", "idle")
    assert body.duration(once, "idle") == once


@pytest.mark.parametrize("wrong", [True, "3", 1.5, None, 0, 11])
def test_what_is_no_whole_number_between_the_bounds_is_refused(wrong: object) -> None:
    with pytest.raises(Refusal, match="`nodes` must be"):
        body.whole(wrong, 1, "nodes", most=10)


def test_the_clock_starts_with_2026_and_ends_with_9999() -> None:
    assert clock.iso(60.5) == "2026-01-01T00:01:00.500Z"
    assert clock.iso(1e300).startswith("9999-12-31")
    assert str(clock.today(86400 * 31)) == "2026-02-01"


@pytest.mark.parametrize(
    ("name", "family", "vcpus", "gpus"),
    [
        ("standard_ds3_V2", "standardDSv2Family", 4, 0),
        ("Standard_D8s_v7", "standardDSv7Family", 8, 0),
        ("Standard_E32-8ads_v6", "standardEADSv6Family", 32, 0),
        ("Standard_NC16as_T4_v4", "standardNCASv4Family", 16, 1),
    ],
)
def test_a_size_is_known_or_read_off_its_name(
    name: str, family: str, vcpus: int, gpus: int
) -> None:
    size = size_of(catalog, name)
    assert size is not None
    assert (size.family, size.vcpus, size.gpus) == (family, vcpus, gpus)


@pytest.mark.parametrize("name", ["Standard_DS3_v9", "D8s_v5", "Standard_Ds_v5", "standard", ""])
def test_a_size_that_follows_no_convention_is_unknown(name: str) -> None:
    assert size_of(catalog, name) is None


def test_settings_are_read_as_they_were_written() -> None:
    given = Settings(Delays(compute_create=1.5), Immutable.IGNORE, InUse.REFUSE)
    assert settings.load(settings.dump(given)) == given
    assert settings.load("{}") == Settings()


def test_assets_take_no_time() -> None:
    assert Delays().of("model", "create") == 0
    assert Delays(endpoint_delete=7).of("batch-endpoint", "delete") == 7


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("*", "model/m:1"),
        ("compute", "compute/cpu"),
        ("compute/CPU", "compute/cpu"),
        ("compute/c*", "compute/cpu"),
        ("model/m", "model/m:1"),
        ("batch-deployment/e", "batch-deployment/e/blue"),
    ],
)
def test_a_fault_matches_its_target_and_what_that_begins(target: str, address: str) -> None:
    assert Fault(Trouble.FAIL, target=target).matches("put", [address])


@pytest.mark.parametrize("target", ["comp", "compute/cp", "model", "compute/cpu/x"])
def test_a_fault_leaves_other_addresses_alone(target: str) -> None:
    assert not Fault(Trouble.FAIL, target=target).matches("put", ["compute/cpu"])


def test_a_fault_of_one_verb_leaves_the_others_alone() -> None:
    assert not Fault(Trouble.FAIL, "get").matches("put", ["compute/cpu"])


@given(st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_a_fault_strikes_as_often_as_asked(nth: int, times: int, every: bool) -> None:
    fault = Fault(Trouble.FAIL, nth=nth, times=times, every=every)
    struck = [seen for seen in range(1, 200) if fault.strikes(seen)]
    step = nth if every else 1
    assert struck == [nth + step * n for n in range(times)]


@given(st.sampled_from(Trouble), st.integers(1, 9), st.none() | st.integers(1, 9), st.text())
def test_a_fault_is_read_as_it_was_written(
    trouble: Trouble, nth: int, times: int | None, message: str
) -> None:
    fault = Fault(trouble, nth=nth, times=times, message=message)
    assert faults.load(faults.dump(fault)) == fault


@given(st.text(max_size=3), st.integers(1, 2**40))
def test_the_token_of_an_operation_leads_back_to_its_number(seed: str, number: int) -> None:
    token = operations.token(seed, number)
    assert operations.number_of(seed, token.upper()) == number
    assert operations.number_of(f"{seed}x", token) is None


def test_refusals_that_pass_say_so() -> None:
    address = Address("compute", "cpu")
    assert busy(address, "Creating", 3).passing
    assert Refusal("Busy", "", status=429).passing
    assert Refusal("Broken", "", status=503).passing
    assert not bad("no").passing
    assert not conflict("no").passing

"""Leases: the same sentences of every place that keeps them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mlctl.backends.ports.lease import LeaseHeld, LeaseLost
from mlctl.kinds.address import Address
from tests.builders import leased
from tests.builders.leased import ANA, CI, Leased

CPU = Address("compute", "cpu-cluster")


def body(most: int) -> dict[str, object]:
    scale = {"minNodeCount": 0, "maxNodeCount": most, "nodeIdleTimeBeforeScaleDown": "PT2M"}
    properties = {"vmSize": "STANDARD_DS3_V2", "scaleSettings": scale}
    return {"properties": {"computeType": "AmlCompute", "properties": properties}}


BODY, OTHER = body(1), body(2)


@pytest.fixture(params=["local", "azure on the emulator", "azure on Azurite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Leased:
    match request.param:
        case "local":
            return leased.on_local(tmp_path / "state.db")
        case "azure on the emulator":
            return leased.on_emulator()
        case _:
            return leased.on_azurite(request.getfixturevalue("azurite"))


def test_one_holds_it_and_the_other_is_told_who(place: Leased) -> None:
    lease = place.mine.acquire("scoring", ANA)
    with pytest.raises(LeaseHeld) as held:
        place.theirs.acquire("scoring", CI)
    assert (held.value.lease.holder, held.value.lease.since) == (ANA, lease.since)
    assert held.value.lease.id == ""
    assert lease.since < held.value.lease.ends <= lease.since + 60.0


def test_of_many_who_ask_at_once_one_gets_it(place: Leased) -> None:
    def taken(number: int) -> int:
        try:
            return (place.mine, place.theirs)[number % 2].acquire("scoring", ANA).token
        except LeaseHeld:
            return 0

    for turn in (1, 2):
        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(taken, range(8))) == [0] * 7 + [turn]
        place.later(61)


def test_each_project_has_its_own(place: Leased) -> None:
    place.mine.acquire("scoring", ANA)
    place.theirs.acquire("training", CI)
    assert [(one.project, one.holder) for one in place.mine.held()] == [
        ("scoring", ANA),
        ("training", CI),
    ]


def test_it_is_over_after_a_minute_and_nobody_has_to_click_it_away(place: Leased) -> None:
    place.mine.acquire("scoring", ANA)
    place.later(59)
    with pytest.raises(LeaseHeld):
        place.theirs.acquire("scoring", CI)
    place.later(2)
    assert place.theirs.held() == []
    assert place.theirs.acquire("scoring", CI).holder == CI


def test_renewed_it_lasts(place: Leased) -> None:
    lease = place.mine.acquire("scoring", ANA)
    for _ in range(4):
        place.later(40)
        place.mine.renew(lease)
    with pytest.raises(LeaseHeld):
        place.theirs.acquire("scoring", CI)


def test_given_back_it_is_free_at_once(place: Leased) -> None:
    lease = place.mine.acquire("scoring", ANA)
    place.mine.release(lease)
    assert place.theirs.held() == []
    place.theirs.acquire("scoring", CI)


def test_the_token_grows_with_every_acquisition_however_the_one_before_ended(place: Leased) -> None:
    tokens = []
    for end in ("release", "break", "wait"):
        lease = place.mine.acquire("scoring", ANA)
        tokens.append(lease.token)
        match end:
            case "release":
                place.mine.release(lease)
            case "break":
                assert place.theirs.break_(place.theirs.held()[0])
            case _:
                place.later(61)
    tokens.append(place.theirs.acquire("scoring", CI).token)
    assert tokens == [1, 2, 3, 4]


def test_a_broken_one_cannot_be_renewed_and_is_free(place: Leased) -> None:
    lease = place.mine.acquire("scoring", ANA)
    assert place.theirs.break_(place.theirs.held()[0])
    assert place.mine.held() == []
    with pytest.raises(LeaseLost, match="scoring"):
        place.mine.renew(lease)
    place.theirs.acquire("scoring", CI)


def test_what_was_shown_is_broken_and_not_the_one_that_came_after_it(place: Leased) -> None:
    shown = place.mine.acquire("scoring", ANA)
    place.mine.release(shown)
    place.theirs.acquire("scoring", CI)
    assert not place.mine.break_(shown)
    assert [one.holder for one in place.mine.held()] == [CI]


def test_one_that_ended_is_not_broken_again(place: Leased) -> None:
    lease = place.mine.acquire("scoring", ANA)
    place.mine.release(lease)
    assert not place.theirs.break_(lease)


def test_a_holder_that_slept_through_it_cannot_renew_what_another_has(place: Leased) -> None:
    lease = place.mine.acquire("scoring", ANA)
    place.later(61)
    theirs = place.theirs.acquire("scoring", CI)
    with pytest.raises(LeaseLost):
        place.mine.renew(lease)
    place.mine.release(lease)  # and does not end theirs by giving back its own
    assert [one.token for one in place.theirs.held()] == [theirs.token]


def test_a_holder_that_slept_while_nobody_took_it_goes_on(place: Leased) -> None:
    lease = place.mine.acquire("scoring", ANA)
    place.later(61)
    place.mine.renew(lease)
    with pytest.raises(LeaseHeld):
        place.theirs.acquire("scoring", CI)


@pytest.fixture(params=["local", "azure on the emulator"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Leased:
    if request.param == "local":
        return leased.on_local(tmp_path / "state.db")
    return leased.on_emulator()


def test_a_write_under_a_lease_is_made(workspace: Leased) -> None:
    under = workspace.backend.under(workspace.mine.acquire("scoring", ANA))
    under.put(CPU, BODY).wait()
    under.delete(CPU).wait()
    assert workspace.backend.read([CPU]) == {}


@pytest.mark.parametrize("verb", ["put", "delete"])
def test_a_paused_holder_writes_nothing_after_another_has_acquired(
    workspace: Leased, verb: str
) -> None:
    workspace.backend.put(CPU, BODY).wait()
    before = workspace.backend.read([CPU])
    under = workspace.backend.under(workspace.mine.acquire("scoring", ANA))
    workspace.later(61)
    workspace.theirs.acquire("scoring", CI)
    with pytest.raises(LeaseLost, match="`scoring` is lost: another process has taken it"):
        under.delete(CPU) if verb == "delete" else under.put(CPU, OTHER)
    assert workspace.backend.read([CPU]) == before


def test_a_broken_holder_stops_before_its_next_write(workspace: Leased) -> None:
    under = workspace.backend.under(workspace.mine.acquire("scoring", ANA))
    under.put(CPU, BODY).wait()
    workspace.theirs.break_(workspace.theirs.held()[0])
    with pytest.raises(LeaseLost, match="it was broken"):
        under.put(CPU, OTHER)


def test_a_paused_holder_goes_on_where_nobody_has_taken_it(workspace: Leased) -> None:
    under = workspace.backend.under(workspace.mine.acquire("scoring", ANA))
    workspace.later(61)
    under.put(CPU, BODY).wait()
    assert CPU in workspace.backend.read([CPU])


def test_others_who_need_no_lease_are_not_fenced(workspace: Leased) -> None:
    workspace.mine.acquire("scoring", ANA)
    workspace.backend.put(CPU, BODY).wait()
    assert CPU in workspace.backend.read([CPU])

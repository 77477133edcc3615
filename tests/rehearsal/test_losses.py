"""Which node is lost when: from a seed, and the same each time."""

from __future__ import annotations

from collections import Counter

from mlctl.rehearsal.losses import INIT_S, MINI_BATCH_S, Moment, by_weather, schedule, slots
from mlctl.simulator.engine.processes import LossScript, Poisson, Shock

PLACES = slots(2, 2)


def test_kills_are_spread_evenly_over_the_moments() -> None:
    moments = Counter(one.moment for one in schedule(24, PLACES, 8, 0, writes=True))
    assert moments == dict.fromkeys(Moment, 4)


def test_no_kill_falls_when_the_work_is_done() -> None:
    for total in (1, 4, 5, 8):
        end = INIT_S + -(-total // len(PLACES)) * MINI_BATCH_S
        assert all(one.at < end for one in schedule(60, PLACES, total, 3, writes=True))


def test_without_files_no_kill_is_in_the_middle_of_one() -> None:
    moments = {one.moment for one in schedule(20, PLACES, 8, 0, writes=False)}
    assert moments == set(Moment) - {Moment.WRITE}


def test_a_kill_stays_itself_however_many_there_are() -> None:
    assert schedule(3, PLACES, 8, 5, writes=True) == schedule(9, PLACES, 8, 5, writes=True)[:3]
    assert schedule(9, PLACES, 8, 5, writes=True) != schedule(9, PLACES, 8, 6, writes=True)


def test_a_kill_falls_into_the_time_of_its_mini_batch() -> None:
    for one in schedule(100, PLACES, 8, 1, writes=True):
        if one.mini_batch is None:
            assert one.at < INIT_S
            continue
        turn, place = divmod(one.mini_batch, len(PLACES))
        start = INIT_S + turn * MINI_BATCH_S
        assert PLACES[place].node == one.node
        assert start <= one.at <= start + MINI_BATCH_S
        assert (one.at == start + MINI_BATCH_S) == (one.moment is Moment.BOUNDARY)


def test_a_script_of_losses_is_taken_word_for_word() -> None:
    losses = by_weather([LossScript(((90.0, 1), (30.0, "all"), (1.0, 7)))], 2, 0)
    assert [(one.at, one.node) for one in losses] == [(30.0, 0), (30.0, 1), (90.0, 1)]


def test_independent_losses_come_at_their_rate() -> None:
    losses = by_weather([Poisson(rate=60)], 4, 0)
    first = [next(one.at for one in losses if one.node == node) for node in range(4)]
    assert len(set(first)) == 4
    hours = max(one.at for one in losses) / 3600
    # A node is lost after 1 minute in the mean and back after 4: 12 losses for each node-hour.
    assert 0.9 < len(losses) / (4 * 12 * hours) < 1.1


def test_a_whole_shock_takes_all_nodes_at_once() -> None:
    losses = by_weather([Shock(6, 1.0)], 3, 0)
    assert all(len({one.at for one in losses[at : at + 3]}) == 1 for at in range(0, 30, 3))

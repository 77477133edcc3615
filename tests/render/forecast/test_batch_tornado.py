"""What a forecast hangs on: the assumptions that move the cost, and no others."""

from __future__ import annotations

from typing import Any

from mlctl.render.forecast.batch import hangs


def row(name: str, *differences: float, spread: float = 0.01) -> dict[str, Any]:
    sides = [
        {
            "cost": 1 + one,
            "cost_difference": {"value": one, "low": one - spread, "high": one + spread},
        }
        for one in differences
    ]
    return {"name": name, "low": sides[0], "high": sides[1]}


def test_the_price_of_low_priority_is_told_apart_from_what_nobody_can_look_up() -> None:
    rows = [row("low_priority_price", -0.5, 1), row("shocks", -0.1, 0.3), row("rate", 0, 0.2)]
    told = hangs([*rows, row("cv", 0, 0.1), row("outages", -0.05, 0.1)])
    assert told == (
        " Besides the price of low priority the cost depends most on shocks (0.9 USD to 1.30 USD),"
        " rate (1.00 USD to 1.20 USD), cv (1.00 USD to 1.10 USD)."
    )


def test_what_moves_the_cost_by_no_more_than_chance_is_not_named() -> None:
    rows = [row("low_priority_price", -0.5, 1), row("shocks", -0.005, 0.005), row("cv", 0, 0)]
    assert hangs(rows).endswith("no assumption changes the cost measurably.")
    assert hangs(None) == ""

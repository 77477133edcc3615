"""What `mlctl advise --vary` asks to try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlctl.cli.shell import InvalidValue

if TYPE_CHECKING:
    from mlctl.pointer import Data

USUAL = ("max_instances=1..32", "tier=low_priority,dedicated")
_MOST_VALUES = 64  # of a field
_NAMES = {"max_concurrency_per_instance": "concurrency"}  # as the files call it


def varied(texts: Sequence[str]) -> dict[str, list[Data]]:
    """What `--vary` tries, by field.

    Raises:
        InvalidValue: it names no field, or no values of one.
    """
    from mlctl.forecast.advice.search import FIELDS

    values_by_field: dict[str, list[Data]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = _NAMES.get(name, name)
        if name not in FIELDS:
            raise InvalidValue(f"`{name}` is none of {', '.join(FIELDS)}", flag="--vary")
        values_by_field[name] = _values(text, name, values)
    return values_by_field


def _values(text: str, name: str, values: str) -> list[Data]:
    from mlctl.forecast.batch.policy import parse
    from mlctl.simulator.engine.model import Tier

    if name == "tier":
        tiers = [tier.value for tier in Tier]
        chosen = values.split(",") if values else tiers
        if not set(chosen) <= set(tiers):
            raise InvalidValue(f"`{text}`: a tier is one of {', '.join(tiers)}", flag="--vary")
        return list(chosen)
    if name == "policy":
        chosen = values.split(",") if values else ["resubmit", "fallback:2", "dedicated"]
        try:
            return [str(parse(text_)) for text_ in chosen]
        except ValueError as error:
            raise InvalidValue(str(error), flag="--vary") from None
    least = 0 if name == "min_instances" else 1
    try:
        low, dots, high = values.partition("..")
        numbers = (
            _doubling(int(low), int(high)) if dots else [int(text_) for text_ in values.split(",")]
        )
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < least or len(numbers) > _MOST_VALUES:
        shape = f"write {name}=1..32 or {name}=1,2,4, whole numbers from {least} on"
        raise InvalidValue(f"`{text}`: {shape}", flag="--vary")
    return list(numbers)


def _doubling(low: int, high: int) -> list[int]:
    """From `low` to `high`, both included, each twice the one before; 0 is followed by 1."""
    numbers: list[int] = []
    if low < 0 or high < low:
        return numbers
    if low == 0 and high:
        numbers, low = [0], 1
    while low < high:
        numbers.append(low)
        low *= 2
    return [*numbers, high]

"""The event log: one JSON line per event, byte-identical for the same seed and commands."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mlctl.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event at the second `at`; the keys of `facts` depend on the event."""

    at: float
    event: str
    facts: Mapping[str, object]

    def line(self) -> str:
        """Return the event as one line of JSON, without a line break."""
        return _encode({"t": self.at, "event": self.event, **self.facts})


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

"""The event log: one JSON line per event, the same bytes for the same seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """Something that happened at the second `at`; the facts depend on the event."""

    at: float
    event: str
    facts: Mapping[str, object]

    def line(self) -> str:
        """The event as JSON, without the end of the line."""
        return _encode({"t": self.at, "event": self.event, **self.facts})


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode

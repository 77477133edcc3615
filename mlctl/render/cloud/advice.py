"""Hints for errors of the service, from `advice.toml`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from mlctl.service_errors import ServiceError, Transient

_LIMIT = r"limit of \d+ (computes|endpoints|deployments)"


def advice(error: ServiceError) -> str | None:
    """Return a one-sentence hint for an error; None if there is none."""
    if full := re.search(_LIMIT, error.message):
        return f"delete unused {full[1]}, or request a higher limit"
    hints = _hints()
    texts = [
        *(hint["text"] for hint in hints["hint"] if _has(error.code, hint["code"])),
        *(text for status, text in hints["status"].items() if status == str(error.status)),
        *(hint["text"] for hint in hints["hint"] if _has(error.message, hint.get("message"))),
    ]
    if texts:
        return str(texts[0])
    if isinstance(error, Transient):
        return "the request was retried several times; try again later"
    return None


@cache
def _hints() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _has(text: str, pattern: str | None) -> bool:
    return pattern is not None and re.search(pattern, text, re.IGNORECASE) is not None

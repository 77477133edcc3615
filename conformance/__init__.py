"""Recorded exchanges with Azure Machine Learning, one card each: what the service says."""

from conformance.card import (
    RECORDED,
    Card,
    CardError,
    CardRequest,
    CardResponse,
    as_data,
    load,
    read,
)

__all__ = [
    "RECORDED",
    "Card",
    "CardError",
    "CardRequest",
    "CardResponse",
    "as_data",
    "load",
    "read",
]

"""Options of the tests."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-cases` writes what the cases give now; the review happens in the diff."""
    parser.addoption("--update-cases", action="store_true", help="rewrite every expected.txt")

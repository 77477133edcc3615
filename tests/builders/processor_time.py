"""A plug-in of pytest: what costs much processor time must be marked slow.

`make check` leaves slow tests out, so a test that becomes slow would be paid for at every check. A
test above `MARKED` seconds should have the mark; above `ALLOWED` it fails without. The time is that
of the processor, its own and that of the processes that it waited for, so other programs weigh
little; fixtures that several tests share are not counted, nor is what imports cost the first test
that needs them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

MARKED = 0.5  # seconds, measured on an idle machine
ALLOWED = 2.0  # a machine on which others work takes more than twice as much
PER_IMPORT = 0.002  # seconds to import a module
EXAMPLES = 30  # of a law; who asks for more waits for them


def processor_time() -> float:
    """Seconds of this process and of all that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class ProcessorTime:
    """Measures each test, and fails the slow ones without a mark."""

    def __init__(self, log: str | None = None) -> None:
        self.log = log
        self.started = 0.0
        self.modules = 0
        self.shared = 0.0  # seconds of fixtures that several tests share

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Time what several tests share."""
        if fixturedef.scope == "function":
            return (yield)
        before, outer = processor_time(), self.shared
        try:
            return (yield)
        finally:
            self.shared = outer + processor_time() - before

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        """Begin to measure."""
        self.started, self.modules, self.shared = processor_time(), len(sys.modules), 0.0
        yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        """Judge what it took; what is torn down is its own where the next test is of its module."""
        seconds = self._seconds()
        yield
        if nextitem is not None and nextitem.getparent(pytest.Module) is item.getparent(
            pytest.Module
        ):
            seconds = self._seconds()
        if self.log:
            with open(self.log, "a", encoding="utf-8") as file:  # noqa: PTH123
                file.write(f"{seconds:.3f}\t{item.nodeid}\n")
        if seconds > ALLOWED and not item.get_closest_marker("slow") and _is_judged(item):
            pytest.fail(
                f"{seconds:.1f} s of processor time: make it lighter, or mark it slow "
                "(see CONTRIBUTING.md)",
                pytrace=False,
            )

    def _seconds(self) -> float:
        imported = PER_IMPORT * (len(sys.modules) - self.modules)
        return processor_time() - self.started - self.shared - imported


def _is_judged(item: pytest.Item) -> bool:
    """Not under coverage, which takes twice the time, nor where more examples were asked for."""
    law = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return "coverage" not in sys.modules and (not law or settings().max_examples <= EXAMPLES)

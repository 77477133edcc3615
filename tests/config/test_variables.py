"""Values in place of expressions."""

from __future__ import annotations

import resource
import time

import pytest

from mlctl import source
from mlctl.config.variables import Variables
from mlctl.diagnostics import Report
from mlctl.pointer import Data


@pytest.mark.slow
@pytest.mark.parametrize("value", ["x" * 1_000_000, ["x" * 1_000] * 1_000])
@pytest.mark.parametrize("separator", ["\n", "\n---\n"])
def test_variables_put_no_more_into_documents_than_anybody_can_mean(
    value: Data, separator: str
) -> None:
    text = separator.join(f"k{number}: ${{{{ var.big }}}}" for number in range(2_000))
    variables, report = Variables({"big": value}), Report()
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    documents = [variables.fill(document, report) for document in source.load("f", text, report)]
    assert documents
    assert {finding.rule.code for finding in report} == {"MLC008"}
    assert "more than 100,000,000 characters" in next(iter(report)).message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB
    assert time.process_time() - start < 5

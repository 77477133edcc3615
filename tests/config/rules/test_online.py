"""The traffic of online endpoints, and how callers prove who they are."""

from __future__ import annotations

import pytest

from tests.builders.findings import check, codes

ENDPOINT = "$schema: managedOnlineEndpoint.schema.json\nname: risk\n"


@pytest.mark.parametrize(
    "said", ["{blue: 90.0, green: 5}", "{blue: 100, green: 1}", "{blue: 99.0}", "{green: 1}"]
)
def test_percentages_that_do_not_add_up_are_found_however_they_are_written(said: str) -> None:
    assert codes(check(f"{ENDPOINT}traffic: {said}\n")) == ["MLC334"]


@pytest.mark.parametrize(
    "said", ["{blue: 90.0, green: 10}", "{blue: 100}", "{}", "{blue: 0, green: 0.0}"]
)
def test_percentages_that_make_all_or_nothing_are_good(said: str) -> None:
    assert codes(check(f"{ENDPOINT}traffic: {said}\n")) == []


@pytest.mark.parametrize("mode", ["AADToken", "aadToken", "AMLToken", "KEY", "Aml_Token", "key"])
def test_a_way_to_prove_who_one_is_may_be_spelt_as_azure_ai_ml_takes_it(mode: str) -> None:
    assert codes(check(f"{ENDPOINT}auth_mode: {mode}\n")) == []


def test_a_way_that_azure_ai_ml_does_not_take_is_found() -> None:
    assert codes(check(f"{ENDPOINT}auth_mode: amltoken\n")) == ["MLC104"]

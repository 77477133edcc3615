"""What resources take of quotas, and what is low priority."""

from __future__ import annotations

import pytest

from mlctl.kinds.facts import Claim, QuotaRefusal, is_low_priority


@pytest.mark.parametrize(
    ("tier", "low"),
    [
        ("low_priority", True),
        ("LowPriority", True),
        ("lowpriority", True),
        ("dedicated", False),
        ("low", False),
        (None, False),
    ],
)
def test_low_priority_is_known_in_the_spelling_of_files_and_of_arm(
    tier: str | None, low: bool
) -> None:
    assert is_low_priority(tier) is low


def test_a_claim_that_asks_for_no_more_than_it_held_fits_a_limit_that_fell() -> None:
    assert Claim(8, 4).exceeds(Claim(8, 3), 3)
    assert not Claim(8, 4).exceeds(Claim(8, 4), 3)
    assert not Claim(8, 4).exceeds(Claim(8, 0), 4)


def test_a_number_of_resources_is_counted_whatever_a_service_refuses() -> None:
    assert Claim().is_counted(QuotaRefusal.MIN)
    assert not Claim(8, 4).is_counted(QuotaRefusal.MIN)
    assert Claim(8, 4).is_counted(QuotaRefusal.MAX)

"""Kinds of a service that Azure has no more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mlctl.kinds.address import Address
from mlctl.service_errors import Permanent
from tests.builders.azure import Azure, azure, emulated

POOL = Address("batch-pool", "scoring-pool")


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.backend.read([Address("compute", "cpu"), POOL]),
        lambda client: client.backend.list("batch-pool"),
        lambda client: client.backend.put(POOL, {"properties": {}}),
        lambda client: client.backend.delete(POOL),
    ],
    ids=["read", "list", "put", "delete"],
)
def test_a_batch_pool_is_refused_before_anything_is_asked(ask: Callable[[Azure], object]) -> None:
    client = azure(emulated())
    with pytest.raises(
        Permanent, match=r"no longer has Batch Pools.* 31 August 2024.*convert"
    ) as no:
        ask(client)
    assert (no.value.code, no.value.status, client.asked) == ("ServiceRetired", 410, [])

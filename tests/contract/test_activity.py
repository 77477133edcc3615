"""Who wrote what, and when: the same of every backend."""

from __future__ import annotations

from mlctl.backends.ports.backend import Backend
from mlctl.backends.ports.monitor import SupportsActivity
from mlctl.kinds.address import Address

CPU = Address("compute", "cpu-cluster")
BODY = {
    "properties": {
        "computeType": "AmlCompute",
        "properties": {"vmSize": "STANDARD_DS3_V2", "scaleSettings": {"maxNodeCount": 1}},
    }
}


def test_writes_and_deletes_are_told_newest_first_and_reads_are_not(backend: Backend) -> None:
    assert isinstance(backend, SupportsActivity)
    assert backend.activity(CPU) == []
    backend.put(CPU, BODY).wait()
    backend.read([CPU])
    backend.delete(CPU).wait()
    assert [one.verb for one in backend.activity(CPU)] == ["delete", "write"]
    assert backend.last_writes([CPU, Address("compute", "none")]) == {CPU: backend.activity(CPU)[0]}
    assert all(one.at.startswith("20") for one in backend.activity(CPU))

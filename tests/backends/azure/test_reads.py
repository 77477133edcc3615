"""What is asked for, in order to know what is there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.config import graph
from mlctl.kinds import KINDS
from mlctl.kinds.address import Address, Scope
from mlctl.planning.refresh import refresh
from mlctl.service_errors import NotFound, Permanent
from mlctl.simulator.control_plane.state.store import Store
from tests.builders.azure import SCOPE, Azure, Between, azure, emulated, says
from tests.builders.bodies import BLUE, CPU, ENDPOINT, MODEL, cluster, model, put, stage
from tests.builders.resources import deployment, endpoint
from tests.builders.simulated import finish_operations


def clusters(count: int) -> list[Address]:
    return [Address("compute", f"cluster-{number:04}") for number in range(count)]


def with_clusters(count: int) -> Azure:
    """A workspace with empty clusters, and a client that has asked for nothing."""
    store = Store(":memory:")
    local = LocalBackend(store, SCOPE)
    local.set_quota(computes=5000)
    none = cluster(scaleSettings={"maxNodeCount": 0, "minNodeCount": 0})
    for address in clusters(count):
        local.put(address, none)
    finish_operations(local)
    return azure(emulated(store))


def kinds(asked: list[str]) -> list[str]:
    """What was asked, without the workspace itself, sorted."""
    return sorted(one for one in asked if one != f"GET {SCOPE.workspace}")


def test_two_of_a_kind_are_asked_one_by_one() -> None:
    client = with_clusters(2)
    assert len(client.backend.read([*clusters(2), ENDPOINT])) == 2
    asked = ["GET cluster-0000", "GET cluster-0001", "GET heart-batch"]
    assert kinds(client.asked) == asked


def test_three_of_a_kind_are_asked_by_a_list() -> None:
    client = with_clusters(3)
    assert len(client.backend.read(clusters(3))) == 3
    assert kinds(client.asked) == ["GET computes"]


@pytest.mark.slow
def test_a_thousand_clusters_take_tens_of_requests() -> None:
    client = with_clusters(1000)
    assert len(client.backend.read(clusters(1000))) == 1000
    assert len(client.asked) <= 20


def test_a_list_that_goes_on_is_followed_to_its_end() -> None:
    emulator = emulated(page=2)
    client = azure(emulator)
    for address in clusters(5):
        client.backend.put(address, cluster(scaleSettings={"maxNodeCount": 0})).wait()
    assert [live.address for live in client.backend.list("compute")] == clusters(5)


def test_the_workspace_is_asked_for_once() -> None:
    client = with_clusters(1)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client.backend.read(clusters(1)), range(8)))
    assert client.asked.count(f"GET {SCOPE.workspace}") == 1
    assert client.backend.location == "eastus"


def test_nothing_is_read_of_a_workspace_that_is_not_there() -> None:
    client = azure(emulated(strict=True), Scope(SCOPE.subscription, "rg", "nowhere"))
    with pytest.raises(NotFound, match="nowhere"):
        client.backend.read([CPU])


def test_deployments_are_asked_by_endpoint() -> None:
    client = azure(emulated())
    stage(client.backend)
    others = [Address("batch-deployment", name, "heart-batch") for name in ("red", "green")]
    nowhere = [Address("batch-deployment", name, "nowhere") for name in ("a", "b", "c")]
    assert set(client.backend.read([BLUE, *others, *nowhere])) == {BLUE}


def test_endpoints_are_listed_once_for_themselves_and_for_what_is_under_them() -> None:
    client = azure(emulated())
    stage(client.backend)
    before = len(client.asked)
    live = client.backend.list_all(KINDS)
    assert {ENDPOINT, BLUE} <= {resource.address for resource in live}
    asked = client.asked[before:]
    assert sorted(set(asked)) == sorted(asked)


def test_a_destruction_lists_deployments_once() -> None:
    client = azure(emulated())
    stage(client.backend)
    declared = graph.build([endpoint(), deployment("blue"), deployment("green")], SCOPE)
    before = len(client.asked)
    live = refresh(declared, client.backend, destroying=True).live
    assert {ENDPOINT, BLUE} <= live.keys()
    asked = client.asked[before:]
    assert [request for request in asked if "deployments" in request] == ["GET deployments"]
    assert asked.count("GET batchEndpoints") == 1


def test_many_versions_of_a_name_are_asked_by_a_list() -> None:
    client = azure(emulated())
    versions = [MODEL.at(str(number)) for number in range(1, 5)]
    for address in versions[:3]:
        put(client.backend, address, model())
    before = len(client.asked)
    assert set(client.backend.read(versions)) == set(versions[:3])
    assert client.asked[before:] == ["GET versions"]


def test_a_compute_of_another_type_is_no_cluster() -> None:
    other = {
        "id": CPU.id(SCOPE),
        "name": CPU.name,
        "properties": {"computeType": "ComputeInstance"},
    }
    one = azure(Between(emulated(), [("GET */computes/*", says(200, other))]))
    with pytest.raises(Permanent, match="ComputeInstance"):
        one.backend.read([CPU])
    every = azure(Between(emulated(), [("GET */computes", says(200, {"value": [other]}))]))
    assert every.backend.list("compute") == []


def test_names_are_escaped_in_paths() -> None:
    client = azure(emulated())
    odd = Address("compute", "../computes?x=1#%2f")
    with pytest.raises(Permanent, match="no name in a path"):
        client.backend.read([odd])
    assert client.transport.seen[-1].path.endswith("/computes/..%2Fcomputes%3Fx%3D1%23%252f")

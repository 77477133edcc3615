"""Leases in the workspace's own storage: who may, what is asked, and what cannot be reached."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from mlctl.applying.lease import LeaseRequest, under_lease
from mlctl.assets.folders import code_hash
from mlctl.backends.ports.lease import LeaseHeld, LeaseLost
from mlctl.emulator import Response
from mlctl.emulator.http.messages import DROPPED
from mlctl.kinds.address import Address
from mlctl.kinds.facts import UploadTarget
from mlctl.kinds.resource import Upload
from mlctl.render.cloud.advice import advice
from mlctl.service_errors import Permanent, Transient
from tests.builders.azure import TOKEN, Azure, Between, azure, emulated, no, says
from tests.builders.leased import ANA, CI

CPU = Address("compute", "cpu-cluster")
CODE = Address("code", "0c0de0de-0000-4000-8000-000000000000", None, "1")
BODY = {"properties": {"computeType": "AmlCompute", "properties": {"vmSize": "STANDARD_DS3_V2"}}}
LEASE, SECRETS = "PUT */.mlctl/locks/*", "POST */listSecrets"
LOST = says(200, cut=DROPPED)


def refused(code: str) -> Response:
    """Azure Storage's refusal."""
    text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code} it is</Message></Error>"
    return Response(
        403, {"content-type": "application/xml", "x-ms-error-code": code}, text.encode()
    )


def behind(*answers: tuple[str, Response]) -> Azure:
    return azure(Between(emulated(), list(answers)))


def stored(client: Azure) -> Any:
    """The SDK's client of the blob."""
    from mlctl.backends.azure.datastore import Datastore  # which needs the extra

    backend = client.backend
    container = Datastore(backend.arm, backend.scope, backend.cloud).container()
    return container.get_blob_client(".mlctl/locks/scoring.json")


def blob(client: Azure) -> tuple[dict[str, Any], dict[str, str]]:
    """The content and the metadata of the blob."""
    found = stored(client).download_blob()
    return json.loads(found.readall()), found.properties.metadata


def test_the_blob_says_who_holds_it_and_the_metadata_has_the_token() -> None:
    client = azure(emulated())
    for token in (1, 2):
        lease = client.backend.leases.acquire("scoring", ANA)
        told, metadata = blob(client)
        assert (told["holder"], told["duration"]) == (ANA.as_data(), 60.0)
        assert metadata == {"token": str(token)}
        assert lease.id not in json.dumps(told)
        client.backend.leases.release(lease)


def test_it_is_in_the_container_of_the_workspace() -> None:
    client = azure(emulated())
    client.backend.leases.acquire("scoring", ANA)
    paths = [one.path for one in client.transport.seen]
    assert any(path.endswith("/datastores/workspaceblobstore") for path in paths)
    assert "/azureml-blobstore-" in paths[-1]
    assert paths[-1].endswith("/.mlctl/locks/scoring.json")


def test_before_each_write_it_is_renewed_and_before_reads_it_is_not() -> None:
    client = azure(emulated())
    under = client.backend.under(client.backend.leases.acquire("scoring", ANA))
    _ = under.location
    before = len(client.asked)
    under.read([CPU])
    under.put(CPU, BODY).wait()
    under.delete(CPU)
    asked = [one for one in client.asked[before:] if "Status" not in one and "Result" not in one]
    writes = [
        number
        for number, one in enumerate(asked)
        if one in ("PUT cpu-cluster", "DELETE cpu-cluster")
    ]
    assert [asked[number - 1] for number in writes] == ["PUT scoring.json"] * 2
    assert asked.count("PUT scoring.json") == 2


def test_once_it_is_lost_no_write_leaves_the_machine() -> None:
    client = azure(emulated())
    leases = client.backend.leases
    under = client.backend.under(leases.acquire("scoring", ANA))
    leases.break_(leases.held()[0])
    with pytest.raises(LeaseLost):
        under.put(CPU, BODY)
    assert not [one for one in client.asked if one == "PUT cpu-cluster"]


def test_an_upload_is_a_write_too(tmp_path: Path) -> None:
    (tmp_path / "score.py").write_text("def run(): ...\n")
    upload = Upload(
        UploadTarget.CODE, str(tmp_path), code_hash(tmp_path), ("properties", "codeUri")
    )
    client = azure(emulated())
    leases = client.backend.leases
    under = client.backend.under(leases.acquire("scoring", ANA))
    leases.break_(leases.held()[0])
    with pytest.raises(LeaseLost):
        under.upload(CODE, {"properties": {}}, upload)
    assert "POST startPendingUpload" not in client.asked


def test_while_the_storage_is_away_writes_go_on_for_as_long_as_the_lease_is_known_to_last() -> None:
    between = Between(emulated(), [])
    client = azure(between)
    under = client.backend.under(client.backend.leases.acquire("scoring", ANA))
    client.clock.moment += 54
    between.answers.append((LEASE, LOST))
    under.put(CPU, BODY).wait()
    client.clock.moment += 2
    between.answers.append((LEASE, LOST))
    with pytest.raises(LeaseLost, match="it is over, and cannot be renewed"):
        under.delete(CPU)
    assert CPU in client.backend.read([CPU])


def test_one_that_was_over_is_renewed_where_the_storage_allows_it() -> None:
    client = azure(emulated())
    under = client.backend.under(client.backend.leases.acquire("scoring", ANA))
    client.clock.moment += 300
    under.put(CPU, BODY).wait()


def test_who_may_not_know_the_key_uses_a_right_of_its_own() -> None:
    client = behind((SECRETS, no(403, "AuthorizationFailed")))
    client.backend.leases.acquire("scoring", ANA)
    assert client.transport.seen[-1].header("authorization") == f"Bearer {TOKEN}"


def test_where_keys_are_turned_off_the_callers_own_right_counts() -> None:
    client = behind((LEASE, refused("KeyBasedAuthenticationNotPermitted")))
    client.backend.leases.acquire("scoring", ANA)
    assert client.transport.seen[-1].header("authorization") == f"Bearer {TOKEN}"
    client.backend.leases.held()
    assert client.transport.seen[-1].header("authorization") == f"Bearer {TOKEN}"


@pytest.mark.parametrize("code", ["AuthorizationPermissionMismatch", "AuthorizationFailure"])
def test_where_the_storage_refuses_nothing_goes_on_and_it_is_said_what_it_takes(code: str) -> None:
    client = behind((LEASE, refused(code)), (LEASE, refused(code)))
    with (
        pytest.raises(Permanent) as found,
        under_lease(client.backend, LeaseRequest("scoring", ANA), threading.Event()),
    ):
        pytest.fail("the block was entered")
    assert f"the workspace's storage cannot keep a lease: ({code})" in found.value.message
    told = str(advice(found.value))
    assert "Storage Blob Data Contributor" in told
    assert "--no-lock" in told


def test_where_the_storage_cannot_be_reached_it_is_said_so() -> None:
    client = behind((LEASE, LOST))
    with pytest.raises(Transient, match=r"cannot keep a lease: \(ConnectionLost\)") as found:
        client.backend.leases.acquire("scoring", ANA)
    assert "--no-lock" in str(advice(found.value))


def test_what_is_half_acquired_is_given_back() -> None:
    """The lease is taken, and what says who has it cannot be written."""
    between = Between(emulated(), [("HEAD */scoring.json", refused("AuthorizationFailure"))])
    client = azure(between)
    between.answers.append(("HEAD */scoring.json", refused("AuthorizationFailure")))
    with pytest.raises(Permanent):
        client.backend.leases.acquire("scoring", ANA)
    client.backend.leases.acquire("scoring", CI)


def test_a_blob_that_somebody_else_wrote_is_no_reason_to_stumble() -> None:
    client = azure(emulated())
    alien = stored(client)
    alien.upload_blob(b"not JSON")
    alien.acquire_lease(lease_duration=60)
    with pytest.raises(LeaseHeld) as held:
        client.backend.leases.acquire("scoring", ANA)
    assert (held.value.lease.holder.who, held.value.lease.token) == ("", 0)


def test_a_blob_that_was_deleted_is_a_lost_lease() -> None:
    client = azure(emulated())
    leases = client.backend.leases
    lease = leases.acquire("scoring", ANA)
    stored(client).delete_blob(lease=lease.id)
    with pytest.raises(LeaseLost):
        leases.renew(lease)
    leases.release(lease)

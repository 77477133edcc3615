"""How the backend asks: as whom, how often, for how long, and of whom it does not."""

from __future__ import annotations

import logging
import ssl
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from mlctl import __version__
from mlctl.emulator import Response
from mlctl.emulator.http.messages import DROPPED
from mlctl.pointer import Data
from mlctl.service_errors import NotFound, Permanent, ServiceError
from tests.builders.azure import (
    BASE,
    SCOPE,
    TOKEN,
    Azure,
    Between,
    azure,
    emulated,
    no,
    says,
)
from tests.builders.bodies import CPU, ENDPOINT, cluster
from tests.builders.served import Served

pytest.importorskip("azure.core", reason="the azure extra is not installed")
requests = pytest.importorskip("requests", reason="the azure extra is not installed")
from mlctl.backends.azure import arm  # noqa: E402
from mlctl.backends.azure.retry import Clock  # noqa: E402

COMPUTE = "GET */computes/cpu-cluster"


def behind(*answers: tuple[str, Response], **options: Any) -> Azure:
    """A client of an emulator that gives some answers not of its own."""
    return azure(Between(emulated(), list(answers)), **options)


def refusal(client: Azure) -> ServiceError:
    """What reading a cluster ends in."""
    with pytest.raises(ServiceError) as caught:
        client.backend.read([CPU])
    return caught.value


def test_every_request_says_who_asks_and_bears_a_token() -> None:
    client = behind()
    client.backend.read([CPU])
    headers = client.transport.seen[-1].headers
    assert headers["user-agent"].startswith(f"mlctl/{__version__}")
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["x-ms-client-request-id"]


def test_a_refusal_is_told_in_the_services_own_words() -> None:
    told = {
        "code": "BadArgument",
        "message": "The size is unknown.",
        "details": [{"code": "Size", "message": "STANDARD_X1", "details": [{"message": "inner"}]}],
    }
    both = {"x-ms-request-id": "r-1", "x-ms-correlation-request-id": "c-2"}
    error = refusal(behind((COMPUTE, says(400, {"error": told}, both))))
    assert (error.code, error.message, error.status) == ("BadArgument", "The size is unknown.", 400)
    assert error.details == ("(Size) STANDARD_X1", "inner")
    assert error.request_id == "r-1 (correlation id: c-2)"


@pytest.mark.parametrize("body", ["<html>no</html>", "", "[1]", '{"message": "no"}', '"no"'])
def test_a_refusal_that_is_no_json_of_arms_is_still_one(body: str) -> None:
    error = refusal(behind((COMPUTE, says(403, body))))
    assert (type(error), error.status) == (Permanent, 403)


def test_an_answer_that_makes_no_sense_is_no_crash() -> None:
    assert refusal(behind((COMPUTE, says(200, "{")))).code == "GarbledAnswer"
    assert refusal(behind((COMPUTE, says(200, "[]")))).code == "GarbledAnswer"


def test_a_token_goes_to_no_other_host() -> None:
    page = {"value": [], "nextLink": "https://evil.test/more"}
    client = behind(("GET */computes", says(200, page)))
    with pytest.raises(Permanent, match=r"evil\.test"):
        client.backend.list("compute")
    page["nextLink"] = "http://azure.test/more"
    client = behind(("GET */computes", says(200, page)))
    with pytest.raises(Permanent, match="ForeignLink"):
        client.backend.list("compute")
    elsewhere = {"azure-asyncoperation": "https://azure.test.evil/status"}
    client = behind(("PUT *", says(201, {"properties": {}}, elsewhere)))
    with pytest.raises(Permanent, match=r"azure\.test\.evil"):
        client.backend.put(CPU, cluster()).wait()


def test_a_redirection_is_not_followed() -> None:
    client = behind((COMPUTE, says(302, None, {"location": "https://evil.test/"})))
    assert refusal(client).status == 302


def test_a_next_page_may_be_said_from_the_root() -> None:
    link = f"{SCOPE.id}/computes?api-version=2024-04-01"
    client = behind(("GET */computes", says(200, {"value": [], "nextLink": link})))
    assert client.backend.list("compute") == []
    assert client.asked == ["GET computes", "GET computes"]


def test_without_tls_a_token_stays_on_this_machine() -> None:
    with pytest.raises(Permanent, match="not https"):
        behind(base="http://azure.test")
    client = behind(base="http://127.0.0.1:8080")
    client.backend.put(CPU, cluster()).wait()
    assert set(client.backend.read([CPU])) == {CPU}
    assert BASE.startswith("https:")


SECRETIVE = f"no: Authorization: Bearer {TOKEN}, {TOKEN}, https://x/?sv=1&sig=s3cr3t%3D&se=2"


@pytest.mark.parametrize(
    "answer",
    [
        says(401, {"error": {"code": "X", "message": SECRETIVE}}),
        says(403, {"error": {"code": "X", "message": "m", "details": [{"message": SECRETIVE}]}}),
        says(400, SECRETIVE),
        says(200, SECRETIVE),
        says(200, {"error": {"code": "X", "message": SECRETIVE}}),
        says(503, {"error": {"code": "X", "message": SECRETIVE}}),
    ],
)
def test_no_error_repeats_a_token(answer: Response, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error = refusal(behind(*[(COMPUTE, answer)] * 4))
    told = f"{error!r} {error} {error.message} {error.details} {caplog.text} {error.__cause__}"
    assert TOKEN not in told
    assert "s3cr3t" not in told


def test_a_failed_operation_repeats_no_token_either() -> None:
    failed = {"status": "Failed", "error": {"code": "X", "message": SECRETIVE}}
    client = behind(("GET */computeOperationsStatus/*", says(200, failed)))
    with pytest.raises(Permanent) as caught:
        client.backend.put(CPU, cluster()).wait()
    assert TOKEN not in str(caught.value)


def test_a_caller_without_credentials_is_told_what_was_tried() -> None:
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    from azure.core.exceptions import ClientAuthenticationError

    class Nobody:
        def get_token(self, *_: str, **__: Any) -> Any:
            raise ClientAuthenticationError(f"No way in.\n\tEnv: unset\n\tCli: {TOKEN}")

    client = behind(credential=Nobody())
    with pytest.raises(Permanent) as caught:
        client.backend.read([CPU])
    error = caught.value
    assert (error.code, error.status, error.message) == ("NoCredentials", 401, "No way in.")
    assert error.details == ("Env: unset", "Cli: ***")


def test_a_name_that_another_workspace_has_is_found_there() -> None:
    from mlctl.kinds.address import Scope

    emulator = emulated()
    azure(emulator, Scope(SCOPE.subscription, "rg", "theirs")).backend.put(CPU, cluster()).wait()
    client = azure(emulator)
    assert client.backend.taken({CPU: "eastus", ENDPOINT: "eastus"}) == {
        CPU: "workspace `theirs` has it"
    }
    assert client.backend.taken({CPU: "westus"}) == {}


def test_workspaces_that_may_not_be_seen_have_no_names() -> None:
    client = behind(("GET */workspaces", no(403)))
    assert client.backend.taken({CPU: "eastus"}) == {}


def test_a_missing_parent_is_not_found() -> None:
    with pytest.raises(NotFound):
        behind().backend.list("batch-deployment", "nobody")


def test_a_broken_connection_is_told_in_words_and_its_cause_beneath() -> None:
    error = refusal(behind(*[(COMPUTE, says(200, cut=DROPPED))] * 4))
    assert error.message.endswith("broke before the answer was complete")
    assert "the connection was lost" in "".join(error.details)


@pytest.mark.parametrize(
    "link", [1, [1], {"a": 1}, "http://[", "https://azure.test:x/", "file:///"]
)
def test_a_next_link_that_is_no_url_is_told(link: Data) -> None:
    client = behind(("GET */computes", says(200, {"value": [], "nextLink": link})))
    with pytest.raises(ServiceError, match="nextLink is not a URL"):
        client.backend.list("compute")


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.test\\.azure.test/more",
        "https://azure.test@evil.test/more",
        "https://evilazure.test/more",
        "//evil.test/more",
    ],
)
def test_a_next_link_to_another_host_gets_no_token(link: str) -> None:
    client = behind(("GET */computes", says(200, {"value": [], "nextLink": link})))
    with pytest.raises(ServiceError):
        client.backend.list("compute")
    assert all(one.base == BASE for one in client.transport.seen)


def test_pages_in_a_circle_end() -> None:
    page = says(200, {"value": [], "nextLink": f"{BASE}/subscriptions/again"})
    client = behind(("GET */computes", page), *[("GET */again", page)] * 3)
    with pytest.raises(ServiceError, match="are circular"):
        client.backend.list("compute")


@pytest.mark.parametrize("value", [1, "text", {"a": 1}, [1], [None]])
def test_a_list_of_anything_but_objects_is_told(value: Data) -> None:
    client = behind(("GET */computes", says(200, {"value": value})))
    with pytest.raises(ServiceError, match="is not a list of objects"):
        client.backend.list("compute")


ODD_CLUSTERS: list[Data] = [
    {"id": 1, "properties": {"computeType": "AmlCompute"}},
    {"properties": {"computeType": "AmlCompute"}, "id": "x"},
    {"id": None, "name": [], "properties": {"computeType": "AmlCompute", "properties": 1}},
]


@pytest.mark.parametrize("body", ODD_CLUSTERS)
def test_a_list_of_resources_of_another_shape_is_no_crash(body: Data) -> None:
    client = behind(("GET */computes", says(200, {"value": [body]})))
    with suppress(ServiceError):
        client.backend.list("compute")


def test_an_answer_of_another_shape_is_told_as_one() -> None:
    sizes = {"value": [{"name": "x", "vCPUs": "many"}]}
    client = behind(("GET */vmSizes", says(200, sizes)))
    with pytest.raises(ServiceError, match="not have the documented shape") as caught:
        client.backend.sizes("eastus")
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("status", [200, 404, 409, 500])
@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        b"[" * 9000,
        b"[" * 101 + b"]" * 101,
        b'{"error": {"code": 1, "details": 2}}',
    ],
)
def test_a_body_that_no_json_can_be_is_no_crash(status: int, body: bytes) -> None:
    answer = replace(says(status), body=body)
    client = behind(*[("GET */vmSizes", answer)] * 4)
    with pytest.raises(ServiceError):
        client.backend.sizes("eastus")


def test_no_answer_makes_it_wait_longer_than_an_operation_may_take() -> None:
    later = {"retry-after": "99999999999"}
    client = behind(("GET */computeOperationsStatus/*", says(200, {"status": "InProgress"}, later)))
    with suppress(ServiceError):
        client.backend.put(CPU, cluster()).wait()
    assert max(client.clock.slept, default=0.0) <= 600.0


def test_a_put_over_a_cluster_made_nothing_though_it_is_answered_as_the_first_one() -> None:
    backend = azure(emulated()).backend
    made = []
    for nodes in (2, 3):
        operation = backend.put(CPU, cluster(nodes))
        made.append(operation.created)
        operation.wait()
    assert made == [True, False]


def test_the_libraries_of_azure_print_nothing_of_their_own() -> None:
    pytest.importorskip("azure.core", reason="the azure extra is not installed")
    script = (
        "import logging, mlctl.backends.azure.arm;"
        " logging.getLogger('azure.core.pipeline.transport').warning('Incomplete download.')"
    )
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert child.stderr == b""


def test_connections_to_all_hosts_share_what_they_trust() -> None:
    adapter = arm._pooled_transport().session.get_adapter("https://one.test")
    contexts = set()
    for url in ("https://one.test/", "https://two.test/"):
        request = requests.Request("GET", url).prepare()
        pool = adapter.get_connection_with_tls_context(request, verify=True)
        adapter.cert_verify(pool, url, verify=True, cert=None)
        assert (pool.ca_certs, pool.cert_reqs) == (None, "CERT_REQUIRED")
        contexts.add(pool.conn_kw["ssl_context"])
    (context,) = contexts
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.get_ca_certs()


def test_who_is_not_trusted_gets_no_request(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = f"{served.told['url']}/metadata/endpoints?api-version=2022-09-01"
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", served.told["ca_file"])
    with arm.open_public(Clock()) as fetch:
        assert fetch(metadata)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", requests.certs.where())
    with arm.open_public(Clock()) as fetch, pytest.raises(ServiceError):
        fetch(metadata)

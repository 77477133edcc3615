"""Local files on their way into the workspace, as the SDK would bring them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlctl.assets.folders import asset_hash, code_hash
from mlctl.emulator import Response
from mlctl.emulator.http.messages import DROPPED
from mlctl.kinds.address import Address
from mlctl.kinds.facts import UploadTarget
from mlctl.kinds.resource import Upload
from mlctl.service_errors import Permanent, Transient
from tests.builders.azure import TOKEN, Azure, Between, azure, emulated, says

CODE = Address("code", "0c0de0de-0000-4000-8000-000000000000", None, "1")
MODEL = Address("model", "heart", None, "1")
ENVIRONMENT = Address("environment", "torch", None, "1")
WIRES = {
    "code": ("properties", "codeUri"),
    "model": ("properties", "modelUri"),
    "environment": ("properties", "build", "contextUri"),
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder of two files, and one that an ignore file leaves out."""
    folder = tmp_path / "src"
    (folder / "deep").mkdir(parents=True)
    (folder / "score.py").write_text("def run(): ...\n")
    (folder / "deep" / "more.py").write_text("x = 1\n")
    (folder / "secret.txt").write_text("none of theirs\n")
    (folder / ".amlignore").write_text("secret.txt\n.amlignore\n")
    return folder


def behind(*answers: tuple[str, Response]) -> Azure:
    return azure(Between(emulated(), list(answers)))


def of(path: Path, address: Address = CODE) -> Upload:
    """The upload of a file or folder that an asset names."""
    code = address.kind == "code"
    digest = code_hash(path) if code else asset_hash(path)
    return Upload(
        UploadTarget.CODE if code else UploadTarget.ASSET, str(path), digest, WIRES[address.kind]
    )


def uploaded(client: Azure, path: Path, address: Address = CODE) -> str:
    """The URI that a body gets."""
    body: Any = client.backend.upload(address, {"properties": {}}, of(path, address))
    for step in WIRES[address.kind]:
        body = body[step]
    return str(body)


def blobs(client: Azure) -> list[str]:
    """The blobs that were written, by the last parts of their names."""
    written = [
        one for one in client.transport.seen if one.method == "PUT" and "comp" not in one.query
    ]
    return sorted(one.path.split("/", 4)[-1] for one in written if one.path.startswith("/blob/"))


def test_code_goes_into_a_container_that_the_service_makes(source: Path) -> None:
    client = behind()
    uri = uploaded(client, source)
    assert uri.endswith("/src")
    assert "?" not in uri  # and so no signature
    assert blobs(client) == ["src/deep/more.py", "src/score.py"]


def test_a_model_goes_into_the_workspaces_own_store(source: Path) -> None:
    client = behind()
    there = f"LocalUpload/{asset_hash(source)}/src"
    assert uploaded(client, source, MODEL).endswith(f"/workspaceblobstore/paths/{there}")
    (first, _) = blobs(client)
    assert first.endswith(f"{there}/deep/more.py")


def test_a_model_may_be_one_file(source: Path) -> None:
    client = behind()
    uri = uploaded(client, source / "score.py", MODEL)
    assert uri.endswith("/score.py")
    assert [name.rsplit("/", 1)[-1] for name in blobs(client)] == ["score.py"]


def test_a_build_context_is_named_by_the_url_of_its_folder(source: Path) -> None:
    uri = uploaded(behind(), source, ENVIRONMENT)
    assert uri.startswith("https://azure.test/blob/")
    assert uri.endswith(f"/LocalUpload/{asset_hash(source)}/src/")


def test_what_is_there_already_does_not_go_up_again(source: Path) -> None:
    client = behind()
    first = uploaded(client, source, MODEL)
    before = len(blobs(client))
    assert uploaded(client, source, MODEL) == first
    assert len(blobs(client)) == before


def test_what_did_not_arrive_as_a_whole_goes_up_again(source: Path) -> None:
    client = behind(("PUT /blob/*/score.py", says(503)))
    with pytest.raises(Transient):
        uploaded(client, source, MODEL)
    before = len(blobs(client))
    uploaded(client, source, MODEL)
    assert len(blobs(client)) == before + 2


def test_an_upload_whose_connection_breaks_may_be_tried_again(source: Path) -> None:
    client = behind(("PUT /blob/*", says(200, cut=DROPPED)))
    with pytest.raises(Transient):
        uploaded(client, source)


def test_a_store_that_refuses_is_told_in_its_own_words(source: Path) -> None:
    words = '<?xml version="1.0"?><Error><Code>X</Code><Message>Not yours.</Message></Error>'
    no = Response(403, {"x-ms-error-code": "AuthorizationFailure"}, words.encode())
    with pytest.raises(Permanent, match="Not yours") as caught:
        uploaded(behind(("HEAD /blob/*", says(404)), ("PUT /blob/*", no)), source)
    assert (caught.value.code, caught.value.status) == ("AuthorizationFailure", 403)


def test_signatures_get_no_token(source: Path) -> None:
    client = behind()
    uploaded(client, source)
    uploaded(client, source, MODEL)
    seen = [one for one in client.transport.seen if one.path.startswith("/blob/")]
    assert seen
    assert not [one for one in seen if "authorization" in one.headers]


def test_a_store_without_secrets_is_entered_with_the_callers_own_token(source: Path) -> None:
    store = {
        "properties": {
            "accountName": "azure.test/blob/theirs",
            "containerName": "box",
            "credentials": {"credentialsType": "None"},
        }
    }
    client = behind(("GET */datastores/*", says(200, store)))
    uploaded(client, source, MODEL)
    written = [one for one in client.transport.seen if one.path.startswith("/blob/theirs")]
    assert {one.headers["authorization"] for one in written} == {f"Bearer {TOKEN}"}


def test_content_that_has_changed_since_the_plan_is_refused(source: Path) -> None:
    planned = of(source)
    (source / "score.py").write_text("def run(): return 1\n")
    with pytest.raises(Permanent, match="has changed"):
        behind().backend.upload(CODE, {"properties": {}}, planned)


def test_content_that_is_gone_is_refused(tmp_path: Path) -> None:
    gone = Upload(UploadTarget.ASSET, str(tmp_path / "gone"), "0", WIRES["model"])
    with pytest.raises(Permanent, match="cannot read"):
        behind().backend.upload(MODEL, {"properties": {}}, gone)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="nothing to upload"):
        uploaded(behind(), tmp_path)


def test_the_code_that_was_uploaded_is_found_by_its_hash(source: Path) -> None:
    client, digest = behind(), code_hash(source)
    hashed = {"hash_sha256": digest, "hash_version": "202208"}
    body = {"properties": {"codeUri": uploaded(client, source), "properties": hashed}}
    client.backend.put(CODE, body).wait()
    assert client.backend.find_code(digest) == CODE
    assert client.backend.find_code("0") is None


def test_the_mark_of_a_whole_upload_is_the_sdks(source: Path) -> None:
    client = behind()
    uploaded(client, source, MODEL)
    marked = next(one for one in client.transport.seen if one.query.get("comp") == "metadata")
    assert marked.headers["x-ms-meta-upload_status"] == "completed"
    assert (marked.headers["x-ms-meta-name"], marked.headers["x-ms-meta-version"]) == ("heart", "1")
    assert json.dumps(dict(marked.headers))  # nothing but text

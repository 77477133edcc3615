"""Uploads: pending ones, datastores, and the blobs behind both."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.builders.emulator import BASE, CLUSTER, WS, Answer, World, world

STORE = f"{WS}/datastores/workspaceblobstore"
PLACE = {"datastoreType": "AzureBlob", "accountName": "acct", "containerName": "box"}
BLOB = "/blob/acct/box/folder/a.txt"


def text(answer: Answer) -> str:
    return answer.response.body.decode()


def with_blob(content: bytes = b"hello") -> World:
    here = world()
    headers = {"x-ms-blob-type": "BlockBlob", "content-type": "text/plain", "x-ms-meta-k": "v"}
    assert here.put(BLOB, content, headers=headers).status == 201
    return here


def test_a_pending_upload_is_a_container_of_ours_with_a_signature() -> None:
    where = f"{WS}/codes/c/versions/1/startPendingUpload"
    answer = world().ask("POST", where, {"pendingUploadType": "TemporaryBlobReference"})
    reference = answer.data["blobReferenceForConsumption"]
    assert reference["blobUri"].startswith(f"{BASE}/blob/uploads/")
    assert reference["credential"]["sasUri"].startswith(reference["blobUri"] + "?")


def test_uploads_of_two_versions_do_not_meet() -> None:
    here = world()
    uris = {
        here.ask("POST", f"{WS}/codes/c/versions/{version}/startPendingUpload").data[
            "blobReferenceForConsumption"
        ]["blobUri"]
        for version in "12"
    }
    assert len(uris) == 2


def test_a_blob_comes_back_as_it_was_put() -> None:
    answer = with_blob().get(BLOB)
    assert (answer.status, text(answer)) == (200, "hello")
    assert answer.header("content-type") == "text/plain"
    assert answer.header("x-ms-meta-k") == "v"


def test_a_blob_that_is_not_there_is_not_found_in_storages_words() -> None:
    answer = world().ask("HEAD", BLOB)
    assert (answer.status, answer.header("x-ms-error-code")) == (404, "BlobNotFound")


def test_what_a_client_needs_of_a_put_is_there() -> None:
    answer = world().put(BLOB, b"x")
    assert answer.header("etag")
    assert answer.header("last-modified") == "Thu, 01 Jan 2026 00:00:00 GMT"


def test_metadata_replaces_what_was_there_and_leaves_the_content() -> None:
    here = with_blob()
    assert here.put(f"{BLOB}?comp=metadata", None, headers={"x-ms-meta-z": "1"}).status == 200
    answer = here.get(BLOB)
    assert (text(answer), answer.header("x-ms-meta-z"), answer.header("x-ms-meta-k")) == (
        "hello",
        "1",
        None,
    )


@pytest.mark.parametrize(
    ("asked", "part", "told"),
    [
        ("bytes=0-1", "he", "bytes 0-1/5"),
        ("bytes=3-", "lo", "bytes 3-4/5"),
        ("bytes=4-99", "o", "bytes 4-4/5"),
    ],
)
def test_a_range_of_a_blob_is_206(asked: str, part: str, told: str) -> None:
    answer = with_blob().get(BLOB, headers={"x-ms-range": asked})
    assert (answer.status, text(answer), answer.header("content-range")) == (206, part, told)


@pytest.mark.parametrize("first", ["5", "9" * 30, "9" * 5000])
def test_a_range_beyond_the_end_is_416(first: str) -> None:
    assert with_blob().get(BLOB, headers={"range": f"bytes={first}-"}).status == 416


@pytest.mark.parametrize("asked", ["bytes=1-" + "9" * 5000, "bytes=" + "0" * 5000 + "1-"])
def test_a_range_of_very_long_numbers_is_no_bug(asked: str) -> None:
    assert with_blob().get(BLOB, headers={"range": asked}).status in (206, 416)


def test_a_blob_may_be_put_only_where_there_is_none() -> None:
    answer = with_blob().put(BLOB, b"other", headers={"if-none-match": "*"})
    assert (answer.status, answer.header("x-ms-error-code")) == (409, "BlobAlreadyExists")


def test_a_large_blob_comes_in_blocks() -> None:
    here = world()
    for block, content in {"YQ==": b"one ", "Yg==": b"two"}.items():
        here.put(f"{BLOB}?comp=block&blockid={block}", content)
    listed = b"<BlockList><Latest>YQ==</Latest><Latest>Yg==</Latest></BlockList>"
    assert here.put(f"{BLOB}?comp=blocklist", listed).status == 201
    assert text(here.get(BLOB)) == "one two"
    assert here.put(f"{BLOB}?comp=blocklist", listed).status == 400  # the blocks are used up


@pytest.mark.parametrize("body", [b"<BlockList><Latest>eA==</Latest></BlockList>", b"<"])
def test_a_block_list_that_names_no_blocks_is_refused(body: bytes) -> None:
    assert world().put(f"{BLOB}?comp=blocklist", body).status == 400


def test_blobs_are_listed_by_prefix_and_folder() -> None:
    here = with_blob()
    here.put("/blob/acct/box/folder/sub/b.txt", b"&")
    listed = text(here.get("/blob/acct/box?restype=container&comp=list&prefix=folder/&delimiter=/"))
    assert "<Name>folder/a.txt</Name>" in listed
    assert "<BlobPrefix><Name>folder/sub/</Name></BlobPrefix>" in listed
    assert "b.txt" not in listed


def test_a_deleted_blob_is_gone() -> None:
    here = with_blob()
    assert here.ask("DELETE", BLOB).status == 202
    assert here.get(BLOB).status == 404


def test_a_storage_verb_that_is_unknown_is_refused_in_storages_words() -> None:
    answer = world().put(f"{BLOB}?comp=tier", None)
    assert (answer.status, answer.header("x-ms-error-code")) == (405, "UnsupportedHttpVerb")


def test_the_default_datastore_is_the_blob_store() -> None:
    answer = world().get(f"{WS}/datastores?isDefault=true&count=30&orderByAsc=false")
    assert answer.names == ["workspaceblobstore"]


def test_the_account_of_a_datastore_leads_to_our_blobs() -> None:
    here = world()
    found = here.get(STORE).data["properties"]
    secrets = here.ask("POST", f"{STORE}/listSecrets", {"expirableSecret": True}).data
    url = f"https://{found['accountName']}.blob.core.windows.net/{found['containerName']}/a"
    assert here.put(f"{url}?{secrets['sasToken']}", b"x").status == 201
    assert text(here.get(f"{url}?{secrets['sasToken']}")) == "x"


def test_a_datastore_is_made_shown_and_dropped_without_its_secrets() -> None:
    here = world()
    credentials = {"credentialsType": "AccountKey", "secrets": {"key": "s3cret"}}
    body = {"properties": {**PLACE, "credentials": credentials}}
    assert here.put(f"{WS}/datastores/mine", body).status == 201
    assert "s3cret" not in text(here.get(f"{WS}/datastores/mine"))
    assert here.ask("DELETE", f"{WS}/datastores/mine").status == 200
    assert here.get(f"{WS}/datastores/mine").status == 404


def test_a_datastore_of_the_workspace_stays() -> None:
    assert world().ask("DELETE", STORE).status == 400


def test_a_datastore_without_credentials_has_no_secrets() -> None:
    here = world()
    here.put(f"{WS}/datastores/mine", {"properties": PLACE})
    assert here.ask("POST", f"{WS}/datastores/mine/listSecrets").status == 400


def test_with_a_token_storage_needs_a_signature() -> None:
    here = world(token="s3cret")
    bearer = here.put(BLOB, b"x", headers={"authorization": "Bearer s3cret"})
    assert (here.put(BLOB, b"x").status, bearer.status) == (403, 201)


def test_one_signature_opens_all_containers_whatever_else_the_url_says() -> None:
    here = world(token="s3cret")
    bearer = {"authorization": "Bearer s3cret"}
    where = f"{WS}/models/m/versions/1/startPendingUpload"
    given = here.ask("POST", where, {}, headers=bearer).data["blobReferenceForConsumption"]
    signature = parse_qs(urlsplit(given["credential"]["sasUri"]).query)["sig"][0]
    asked = urlencode({"se": "2001-01-01T00:00:00Z", "sp": "r", "sig": signature})
    assert here.put(f"{BLOB}?{asked}", b"x").status == 201  # as docs/emulator.md says


def test_datastores_are_listed_newest_first() -> None:
    here = world()
    for name in ("a", "b"):
        assert here.put(f"{WS}/datastores/{name}", {"properties": PLACE}).status == 201
        here.made(f"{WS}/computes/{name}-cluster", CLUSTER)  # which takes time
    names = here.get(f"{WS}/datastores").names
    assert names[:3] == ["b", "a", "workspaceblobstore"]
    assert len(names) == 6

"""Datastores from the file to the wire: their secrets, their paths, both backends, the SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.builders import shell
from tests.builders.azure import led
from tests.builders.sdk import lead_here, sdk
from tests.builders.served import serving
from tests.builders.shell import Run, edit

KEY = "c2VjcmV0LXNlY3JldC1zZWNyZXQ="
STORE = """\
$schema: https://azuremlschemas.azureedge.net/latest/azureBlob.schema.json
name: photos
type: azure_blob
account_name: contoso
container_name: originals
"""
WITH_KEY = f"{STORE}credentials:\n  account_key: ${{{{ env.PHOTOS_KEY }}}}\n"
DATA = """\
$schema: https://azuremlschemas.azureedge.net/latest/data.schema.json
name: heap
version: "1"
type: uri_folder
path: azureml://datastores/{store}/paths/2026/
"""
LAKE = "type: azure_data_lake_gen2\naccount_name: a\nfilesystem: b\n"
PRINCIPAL = "{tenant_id: t, client_id: c, client_secret: s}"


@pytest.fixture(params=["local", pytest.param("azure", marks=pytest.mark.slow)])
def anywhere(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Run]:
    """mlctl on the local backend, and on the azure backend in front of the emulator."""
    run = shell.inside(tmp_path, monkeypatch, capsys)
    monkeypatch.setenv("PHOTOS_KEY", KEY)
    if request.param == "local":
        yield run
        return
    pytest.importorskip("azure.identity", reason="the azure extra is not installed")
    with serving(tmp_path_factory.mktemp("served")) as served:
        led(served, monkeypatch)
        monkeypatch.setenv("MLCTL_BACKEND", "azure")
        monkeypatch.setenv("MLCTL_SUBSCRIPTION", str(UUID(int=0xD0)))
        monkeypatch.setenv("MLCTL_RESOURCE_GROUP", "rg")
        monkeypatch.setenv("MLCTL_WORKSPACE", "ws")
        yield run


def test_a_datastore_goes_the_whole_way(anywhere: Run, tmp_path: Path) -> None:
    file = tmp_path / "photos.yml"
    file.write_text(WITH_KEY)
    (tmp_path / "heap.yml").write_text(DATA.format(store="photos"))
    made = anywhere("apply", ".", "--yes")
    assert made.code == 0, made.err
    assert made.err.index("datastore/photos: Creating") < made.err.index("data/heap:1: Creating")
    assert "No changes" in anywhere("plan", ".").out
    edit(file, "account_key", "sas_token")
    assert "sas_token: *** (before) -> *** (after) # from AccountKey" in anywhere("plan", ".").out
    assert (
        "credentials.sas_token: *** in the file, AccountKey in the workspace"
        in anywhere("drift", ".").out
    )
    assert anywhere("apply", ".", "--yes").code == 0
    assert "No changes" in anywhere("plan", ".").out
    assert anywhere("export", "datastore", "--to", "out").code == 0
    exported = tmp_path / "out" / "datastore" / "photos.yml"
    assert "sas_token: ${{ env.SAS_TOKEN }}" in exported.read_text()
    assert [entry.name for entry in exported.parent.iterdir()] == ["photos.yml"]  # none of its own
    assert anywhere("datastore", "delete", "-n", "photos", "--yes").code == 0
    assert "photos" not in anywhere("datastore", "list").out


def test_a_secret_is_in_no_plan_file_no_state_and_no_output(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "photos.yml").write_text(WITH_KEY.replace("${{ env.PHOTOS_KEY }}", KEY))
    shown = [mlctl("plan", "photos.yml", "--out", "p"), mlctl("apply", "p", "--yes")]
    shown += [mlctl("datastore", "show", "-n", "photos"), mlctl("plan", "photos.yml", "-o", "json")]
    assert [done.code for done in shown] == [0, 0, 0, 0]
    assert not any(KEY in done.out + done.err for done in shown)
    kept = [tmp_path / "p", *(tmp_path / ".mlctl").iterdir()]
    assert not any(KEY.encode() in file.read_bytes() for file in kept)


def test_another_key_is_no_change_and_create_writes_it_all_the_same(
    anywhere: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "photos.yml").write_text(WITH_KEY)
    assert anywhere("apply", "photos.yml", "--yes").code == 0
    monkeypatch.setenv("PHOTOS_KEY", "b3RoZXI=")
    assert "No changes" in anywhere("plan", "photos.yml").out
    again = anywhere("datastore", "create", "-f", "photos.yml")
    assert (again.code, "Modifications complete" in again.err) == (0, True)


def test_a_change_that_would_lose_the_secret_is_refused(mlctl: Run, tmp_path: Path) -> None:
    file = tmp_path / "photos.yml"
    file.write_text(STORE + f"credentials: {{account_key: {KEY}}}\n")
    mlctl("apply", "photos.yml", "--yes")
    file.write_text(STORE)
    assert "No changes" in mlctl("plan", "photos.yml").out  # silence keeps it
    file.write_text(f"{STORE}description: other\n")
    refused = mlctl("apply", "photos.yml", "--yes")
    assert (refused.code, "MLC420" in refused.out + refused.err) == (6, True)
    updated = mlctl("datastore", "update", "-n", "photos", "--set", "description=other")
    assert (updated.code, "credentials.account_key" in updated.err) == (1, True)


def test_a_datastore_without_credentials_says_that_identities_are_used(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "photos.yml").write_text(STORE)
    assert "credentials:    (none: identities are used)" in mlctl("plan", "photos.yml").out


@pytest.mark.parametrize(
    ("store", "line"),
    [
        ("fotos", "there is no datastore `fotos`"),
        ("photos", ""),
        ("workspaceblobstore", ""),
        ("WorkspaceFileStore", ""),
    ],
)
def test_a_path_leads_to_a_datastore_that_there_is(
    mlctl: Run, tmp_path: Path, store: str, line: str
) -> None:
    (tmp_path / "photos.yml").write_text(STORE)
    assert mlctl("apply", "photos.yml", "--yes").code == 0
    (tmp_path / "heap.yml").write_text(DATA.format(store=store))
    planned = mlctl("plan", "heap.yml")
    assert ("MLC421" in planned.out, line in planned.out) == (bool(line), True)


def test_a_job_that_reads_from_no_datastore_is_warned_of_before_it_runs(
    mlctl: Run, tmp_path: Path
) -> None:
    job = """\
command: cat ${{inputs.heap}}
environment: azureml://registries/azureml/environments/sklearn-1.5/versions/28
experiment_name: e
inputs: {heap: {type: uri_folder, path: "azureml://datastores/fotos/paths/2026"}}
"""
    (tmp_path / "job.yml").write_text(job)
    submitted = mlctl("job", "create", "-f", "job.yml")
    assert (submitted.code, "MLC421" in submitted.err) == (0, True)
    (tmp_path / "job.yml").write_text(job.replace("fotos", "workspaceblobstore"))
    assert "MLC421" not in mlctl("job", "create", "-f", "job.yml").err


def test_as_in_az_nobody_is_asked_before_a_datastore_is_deleted(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "photos.yml").write_text(STORE)
    mlctl("apply", "photos.yml", "--yes")
    assert mlctl("datastore", "delete", "-n", "photos").code == 0


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ("type: azure_blob\naccount_name: a\ncontainer_name: b\n", ""),
        ("type: azure_file\naccount_name: a\nfile_share_name: b\n", ""),
        (f"{LAKE}credentials: {PRINCIPAL}\n", ""),
        (f"type: azure_data_lake_gen1\nstore_name: a\ncredentials: {PRINCIPAL}\n", ""),
        ("type: one_lake\none_lake_workspace_name: a\nendpoint: e\nartifact: {name: n}\n", ""),
        ("type: azure_file\naccount_name: a\ncontainer_name: b\n", "MLC109"),
        ("type: azure_blob\naccount_name: a\n", "MLC102"),
        (f"{LAKE}credentials: {{tenant_id: t, client_id: c}}\n", "MLC102"),
    ],
)
def test_each_type_has_fields_of_its_own(
    mlctl: Run, tmp_path: Path, fields: str, code: str
) -> None:
    (tmp_path / "d.yml").write_text(f"name: d\n{fields}")
    checked = mlctl("validate", "d.yml", "--ignore", "MLC319")
    assert (checked.code, code in checked.out + checked.err) == (bool(code), True), checked.out
    if not code:
        assert mlctl("apply", "d.yml", "--yes").code == 0
        assert "No changes" in mlctl("plan", "d.yml").out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_the_sdk_has_datastores_of_each_type(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    from azure.ai.ml import entities

    lead_here(monkeypatch)
    stores = sdk().ml.datastores
    principal = entities.ServicePrincipalConfiguration(
        tenant_id="t", client_id="c", client_secret="s3cret"
    )
    key = entities.AccountKeyConfiguration(account_key=KEY)
    for made in (
        entities.AzureBlobDatastore(
            name="b", account_name="a", container_name="x", credentials=key
        ),
        entities.AzureFileDatastore(name="f", account_name="a", file_share_name="x"),
        entities.AzureDataLakeGen2Datastore(
            name="g2", account_name="a", filesystem="x", credentials=principal
        ),
        entities.AzureDataLakeGen1Datastore(name="g1", store_name="x", credentials=principal),
    ):
        stores.create_or_update(made)
        assert stores.get(made.name).type == made.type
    assert stores.get("g2").credentials.client_secret is None
    assert stores.get_default().name == "workspaceblobstore"
    assert {store.name for store in stores.list()} >= {"b", "f", "g1", "g2", "workspacefilestore"}
    stores.delete("b")
    with pytest.raises(Exception, match="Could not find datastore: b"):
        stores.get("b")

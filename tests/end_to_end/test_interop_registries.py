"""The SDK and we write to registries: the same requests with the same bodies, each read by both."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mlctl import backends
from mlctl.emulator import Emulator, Request
from mlctl.kinds.address import Address
from mlctl.pointer import Data
from mlctl.testing.sdk import client
from tests.builders.azure import Azure
from tests.builders.sdk import Sdk, lead_here, sdk
from tests.builders.shell import Done, Run
from tests.end_to_end.test_interop_azure import ours
from tests.end_to_end.test_interop_emulator import SCOPE, make

if TYPE_CHECKING:
    from mlctl.backends.azure import AzureBackend

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
_GUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# We say the default system; the hash of a component is of the id of its code, which we name by its
# content and the SDK by chance.
_OURS = ("osType", "client_component_hash")
_BLOB = re.compile(r".*/uploads/[^/]+/")


@pytest.fixture(autouse=True)
def _led(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    lead_here(monkeypatch)


def writes(seen: list[Request]) -> list[tuple[str, str, Data]]:
    """The writes: paths, bodies as data, of blobs their names alone, and no names by chance."""
    return [
        (request.method, spelt(_BLOB.sub("BLOB ", request.path)), body_of(request))
        for request in seen
        if request.method in ("PUT", "POST", "PATCH", "DELETE")
    ]


def body_of(request: Request) -> Data:
    """The body of a request that is no blob's."""
    return None if _BLOB.match(request.path) else plain(json.loads(request.body or b"null"))


def plain(value: Data) -> Data:
    """A body without what is the default, and with numbers as texts."""
    if isinstance(value, dict):
        kept = {key: plain(item) for key, item in value.items() if key not in _OURS}
        return {key: item for key, item in kept.items() if item not in (None, False, {}, [])}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return spelt(str(value)) if isinstance(value, (str, int)) and value is not False else value


def spelt(text: str) -> str:
    """A text without the host, and without names that are made by chance or by a hash."""
    return _GUID.sub("GUID", re.sub(r"https://[a-z0-9-]+\.test/", "https://HOST/", text))


class Ours:
    """mlctl on the azure backend, on an SDK's emulator: a command line, and what it wrote."""

    def __init__(self, here: Sdk, mlctl: Run, patch: pytest.MonkeyPatch) -> None:
        self._here = here
        self._mlctl = mlctl
        self._clients: list[Azure] = []
        patch.setattr(backends, "_azure", self._connect)

    def _connect(self, *_: object) -> AzureBackend:
        self._clients.append(ours(self._here))
        return self._clients[-1].backend

    def __call__(self, *line: str) -> Done:
        return self._mlctl(*line, *WHERE)

    @property
    def writes(self) -> list[tuple[str, str, Data]]:
        return [write for client in self._clients for write in writes(client.transport.seen)]


WHERE = ("--backend", "azure", "--subscription", SCOPE.subscription, "-g", SCOPE.resource_group)
UNLINKED = ("--query", "{id: id, tags: tags, at: replication_locations}")  # no URL of its host
IN_OURS = ("--registry-name", "ours")
FILES: dict[str, dict[str, Data]] = {
    "models": {"name": "m", "version": "1", "path": "model", "type": "custom_model"},
    "data": {"name": "d", "version": "2", "path": "model/weights.bin", "type": "uri_file"},
    "environments": {"name": "e", "version": "3", "image": "busybox", "tags": {"a": "b"}},
    "built": {"name": "e", "version": "4", "build": {"path": "image"}},
    "components": {
        "name": "c",
        "version": "1",
        "type": "command",
        "command": "python score.py",
        "code": "src",
        "environment": "azureml://registries/ours/environments/e/versions/3",
    },
}
COMMANDS = {
    "models": "model",
    "data": "data",
    "environments": "environment",
    "built": "environment",
    "components": "component",
}
GROUP = "/subscriptions/s/resourceGroups/g/providers"


def file_of(folder: Path, case: str) -> Path:
    """The file of an asset, beside the files that it names."""
    for name in ("model/weights.bin", "image/Dockerfile", "src/score.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    file = folder / "file.yml"
    file.write_text(json.dumps(FILES[case]))
    return file


def written_by_sdk(emulator: Emulator, file: Path, case: str) -> list[tuple[str, str, Data]]:
    """An asset, written to the registry by the SDK: what it sent."""
    from azure.ai import ml as azure_ml

    theirs, transport = client(emulator, registry_name="ours")
    load: Any = getattr(azure_ml, f"load_{COMMANDS[case]}")
    collection = "environments" if case == "built" else case
    getattr(theirs, collection).create_or_update(load(str(file)))
    return writes(transport.seen)


@pytest.mark.parametrize("case", FILES)
def test_the_same_is_sent_for_an_asset(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    file = file_of(tmp_path, case)
    mine = Ours(sdk(), mlctl, monkeypatch)
    done = mine(COMMANDS[case], "create", "-f", str(file), *IN_OURS)
    collection = "environments" if case == "built" else case
    data = FILES[case]
    asset_id = f"azureml://registries/ours/{collection}/{data['name']}/versions/{data['version']}"
    assert done.json["id"] == asset_id, done.err
    assert mine.writes == written_by_sdk(sdk().world.emulator, file, case)


@pytest.mark.parametrize("case", FILES)
def test_we_read_what_the_sdk_wrote(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    here, file = sdk(), file_of(tmp_path, case)
    written_by_sdk(here.world.emulator, file, case)
    mine = Ours(here, mlctl, monkeypatch)
    named = ("-n", str(FILES[case]["name"]), *IN_OURS)
    shown = mine(COMMANDS[case], "show", *named, "-v", str(FILES[case]["version"])).json
    assert shown["name"] == FILES[case]["name"]
    assert len(mine(COMMANDS[case], "list", *named).json) == 1


@pytest.mark.parametrize("share_as", [(), ("released", "7")])
def test_the_same_is_sent_to_share_a_model(
    mlctl: Run, monkeypatch: pytest.MonkeyPatch, share_as: tuple[str, ...]
) -> None:
    theirs, model = sdk(), Address("model", "m", None, "1")
    name, version = share_as or ("m", "1")
    make(theirs.world, model)
    shared = theirs.ml.models.share(
        "m", "1", share_with_name=name, share_with_version=version, registry_name="ours"
    )
    here = sdk()  # from now on the SDK looks for registries here
    make(here.world, model)
    mine = Ours(here, mlctl, monkeypatch)
    line = ("model", "share", "-n", "m", "-v", "1", "-w", SCOPE.workspace, *IN_OURS)
    target = ("--share-with-name", name, "--share-with-version", version) if share_as else ()
    assert mine(*line, *target).json["id"] == shared.id
    assert mine.writes == writes(theirs.transport.seen)
    again = mine(*line, *target)
    assert again.code == 1
    assert f"model/{name}:{version} already exists in registry ours" in again.err


REGISTRIES: dict[str, dict[str, Data]] = {
    "the least": {"replication_locations": [{"location": "eastus"}]},
    "all": {
        "tags": {"team": "ds"},
        "public_network_access": "disabled",
        "replication_locations": [
            {"location": "eastus", "storage_config": {"replication_count": 2}},
            {
                "location": "westus",
                "storage_config": {
                    "storage_account_hns": True,
                    "storage_account_type": "Premium_LRS",
                },
            },
        ],
    },
    "of others": {
        "container_registry": f"{GROUP}/Microsoft.ContainerRegistry/registries/images",
        "replication_locations": [
            {
                "location": "eastus",
                "storage_config": [f"{GROUP}/Microsoft.Storage/storageAccounts/files"],
            }
        ],
    },
}


@pytest.mark.parametrize("case", REGISTRIES)
def test_the_same_is_sent_to_make_a_registry(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    from azure.ai.ml import load_registry

    file = tmp_path / "registry.yml"
    file.write_text(json.dumps({"name": "ours", "location": "eastus", **REGISTRIES[case]}))
    theirs = sdk()
    theirs.ml.registries.begin_create(load_registry(str(file))).result()
    mine = Ours(sdk(), mlctl, monkeypatch)
    made = mine("registry", "create", "-f", str(file), *UNLINKED).json
    assert mine.writes == writes(theirs.transport.seen)
    assert made["tags"] == REGISTRIES[case].get("tags", {})
    assert mine("registry", "show", "-n", "ours", *UNLINKED).json == made
    assert mine("registry", "list", "--query", "[].name").json == ["ours"]
    assert mine("registry", "delete", "-n", "ours", "--yes").code == 0
    assert mine("registry", "list").json == []
    assert mine("registry", "delete", "-n", "ours", "--yes").code == 3


def test_what_is_in_a_registry_is_changed_archived_and_never_deleted(
    mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, file = Ours(sdk(), mlctl, monkeypatch), file_of(tmp_path, "models")
    made = mine("model", "create", "-f", str(file), *IN_OURS).json
    named = ("-n", "m", "-v", "1", *IN_OURS)
    changed = mine("model", "update", *named, "--set", "tags.a=b").json
    assert changed == {**made, "tags": {"a": "b"}}
    assert mine("model", "archive", *named).code == 0
    assert mine("model", "list", "-n", "m", *IN_OURS).json == []
    assert mine("model", "create", "-n", "m", "--path", str(file), *IN_OURS).json["version"] == "2"
    other = mine("model", "create", "-f", str(file), "--replace", *IN_OURS)
    assert other.code == 1
    assert "give the new content a new `version`" in other.err


def test_the_sdk_downloads_a_model_of_a_registry(tmp_path: Path) -> None:
    here, file = sdk(), file_of(tmp_path, "models")
    written_by_sdk(here.world.emulator, file, "models")
    theirs, _ = client(here.world.emulator, registry_name="ours")
    theirs.models.download(name="m", version="1", download_path=str(tmp_path / "there"))
    assert (tmp_path / "there/m/model/weights.bin").read_text() == "model/weights.bin"

"""A registry as a backend: what it refuses, and what it says of what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlctl.assets.folders import asset_hash
from mlctl.kinds.address import Address
from mlctl.kinds.facts import UploadTarget
from mlctl.kinds.resource import Upload
from mlctl.pointer import Data, get
from mlctl.service_errors import NotFound, Permanent, ServiceError
from tests.builders.azure import Between, azure, emulated, no

MODEL = Address("model", "m", None, "1")
WIRE = ("properties", "modelUri")
BODY: dict[str, Data] = {
    "properties": {"modelUri": "azureml://x/LocalUpload/hash/w.bin", "modelType": "custom_model"}
}


def upload_of(folder: Path) -> Upload:
    """A file for a model."""
    file = folder / "w.bin"
    file.write_text("weights")
    return Upload(UploadTarget.ASSET, str(file), asset_hash(file), WIRE)


def test_files_go_to_a_place_of_the_registry_and_are_known_again(tmp_path: Path) -> None:
    here = azure(emulated())
    ours = here.backend.writing_registry("ours")
    assert ours.read([MODEL]) == {}
    body = ours.upload(MODEL, BODY, upload_of(tmp_path))
    ours.put(MODEL, body).wait()
    assert here.asked.count("PUT 1") == 2  # the place, and the version
    (live,) = ours.list("model")
    assert str(live.body["properties"]["modelUri"]).endswith("/w.bin")
    assert get(ours.read([MODEL])[MODEL].body, WIRE) == get(BODY, WIRE)
    with pytest.raises(Permanent, match="model/m:1 exists in registry ours"):
        ours.upload(MODEL, BODY, upload_of(tmp_path))


def test_nothing_is_deleted_in_a_registry() -> None:
    with pytest.raises(Permanent, match="registries keep their assets"):
        azure(emulated()).backend.writing_registry("ours").delete(MODEL)


def test_where_there_is_no_registry_nothing_seems_free() -> None:
    service = Between(emulated(), [("GET *discovery", no(404, "RegistryNotFound"))])
    with pytest.raises(NotFound):
        azure(service).backend.writing_registry("none").read([MODEL])


def test_a_refused_place_is_an_error() -> None:
    service = Between(emulated(), [("PUT *tempdatarefs*", no(403, "Forbidden"))])
    with pytest.raises(ServiceError, match="Forbidden"):
        azure(service).backend.writing_registry("ours").put(MODEL, BODY)


def test_a_registry_that_is_not_there_is_not_deleted() -> None:
    with pytest.raises(NotFound):
        azure(emulated()).backend.delete_registry("none")

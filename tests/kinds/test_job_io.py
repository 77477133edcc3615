"""The inputs of jobs name assets by the ids of their own collections."""

from __future__ import annotations

import pytest

from mlctl.kinds import job_io
from mlctl.kinds.address import Scope

SCOPE = Scope("00000000-0000-0000-0000-000000000000", "g", "w")


@pytest.mark.parametrize(
    ("kind", "collection"),
    [("uri_file", "data"), ("mlflow_model", "models"), ("custom_model", "models")],
)
def test_an_asset_is_sent_by_its_id_and_read_back_by_its_name(kind: str, collection: str) -> None:
    written = {"type": kind, "path": "azureml:iris:3"}
    sent = job_io.encode(written, "jobInputType", SCOPE)
    assert sent["uri"] == f"{SCOPE.id}/{collection}/iris/versions/3"
    assert job_io.decode(sent, "jobInputType", SCOPE) == written

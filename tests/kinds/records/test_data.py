"""Data assets: the files of other people, and the bodies that the service was sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mlctl import source
from mlctl.backends.ports.backend import Backend
from mlctl.config.loader import Loader
from mlctl.diagnostics import Report
from mlctl.kinds import KINDS
from mlctl.kinds.registry import infer
from mlctl.kinds.resource import build
from mlctl.kinds.values import complete, encode
from tests.builders.azure import azure, emulated
from tests.builders.findings import TODAY
from tests.builders.paths import SHARED
from tests.builders.plans import actions, applied, planned
from tests.builders.resources import declared
from tests.builders.workspace import SCOPE, cloud

DATA = KINDS["data"]
CORPUS = SHARED / "corpus-kinds"
RECORDED = SHARED / "recorded" / "data-put-create.json"


def files() -> list[str]:
    index = CORPUS / "INDEX.tsv"
    if not index.is_file():
        return []
    rows = [line.split("\t") for line in index.read_text(encoding="utf-8").splitlines()[1:]]
    return [file for file, kind, _, _, verdict, *_ in rows if (kind, verdict) == ("data", "accept")]


@pytest.mark.parametrize("file", files())
def test_a_real_file_of_data_is_valid(file: str) -> None:
    path, report = CORPUS / file, Report()
    (document,) = source.load(str(path), path.read_bytes(), report)
    loader = Loader(report, TODAY)
    loaded = loader.check([(source.SourceFile(str(path), explicit=True), document)])
    assert [one.kind for one in loaded.resources] == [DATA]
    assert {one.rule.code for one in report} <= {"MLC203"}  # files beside it


@pytest.mark.skipif(not RECORDED.is_file(), reason="no ../shared/recorded beside the checkout")
def test_the_body_is_the_one_that_the_service_was_sent() -> None:
    sent = json.loads(RECORDED.read_text(encoding="utf-8"))["request"]["body"]
    found = declared(
        "data", {"name": "iris", "type": "uri_file", "path": sent["properties"]["dataUri"]}
    )
    assert encode(complete(found.values, found.form), found.form, SCOPE) == sent


def test_data_is_told_by_its_type_and_path_alone() -> None:
    said = {"name": "a", "type": "uri_folder", "path": "./a"}
    assert infer(said) is DATA
    assert infer({**said, "mode": "download"}) is None  # the input of a job
    assert infer({"paths": [{"file": "a.csv"}], "type": "mltable"}) is None  # an MLTable file


def test_a_version_keeps_its_content_and_takes_new_words() -> None:
    backend = cloud()
    said = {"name": "a", "version": "1", "path": "https://host/a/"}
    applied(backend, declared("data", said))
    assert actions(planned(backend, declared("data", said)).plan) == {}
    described = declared("data", {**said, "description": "all of them", "tags": {"by": "me"}})
    assert actions(planned(backend, described).plan) == {"data/a:1": "update"}
    other = planned(backend, declared("data", {**said, "path": "https://host/b/"})).plan
    assert [one.rule.code for one in other.rejections] == ["MLC403"]
    newer = declared("data", {"name": "a", "path": "https://host/b/"})
    assert actions(planned(backend, newer).plan) == {"data/a:2": "create"}


@pytest.mark.parametrize("make", [cloud, lambda: azure(emulated()).backend], ids=["local", "azure"])
def test_a_local_file_becomes_an_upload_named_by_its_hash(
    make: Callable[[], Backend], tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("age\n")
    text = "name: a\ntype: uri_file\npath: a.csv\n"
    (document,) = source.load(str(tmp_path / "a.yml"), text.encode(), Report())
    found = build(document, DATA)
    assert found is not None
    backend = make()
    applied(backend, found)
    (live,) = backend.list("data")
    assert live.body["properties"]["dataUri"].endswith("/a.csv")
    assert "/LocalUpload/" in live.body["properties"]["dataUri"]
    assert actions(planned(backend, found).plan) == {}

"""The client of azure-ai-ml, which only streams and downloads need."""

from __future__ import annotations

import sys

import pytest

from mlctl.kinds.address import Scope
from mlctl.service_errors import Permanent
from mlctl.workload import DEFAULT_NAME, Workload
from tests.builders.azure import azure
from tests.builders.emulator import with_deployment

SCOPE = Scope("sub", "rg", "ws")


class Broken:
    """An azure-ai-ml that does not suit another package, as after the release of marshmallow 4."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "azure.ai.ml":
            raise ImportError("cannot import name '_T' from 'marshmallow.fields'")


@pytest.mark.slow
def test_an_sdk_that_cannot_be_imported_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = azure(with_deployment().emulator, SCOPE)
    for name in [one for one in sys.modules if one.startswith("azure.ai")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
    jobs = here.backend.jobs
    made = jobs.invoke("scoring", "blue", {}, Workload(), DEFAULT_NAME)
    assert [one.name for one in jobs.list()] == [made.name]
    with pytest.raises(Permanent, match=r"'_T' from 'marshmallow.*pip install --upgrade") as caught:
        jobs.stream(made.name)
    assert caught.value.code == "BrokenExtra"

"""Paths in datastores: the form in which the service keeps them."""

from __future__ import annotations

import pytest

from mlctl.kinds import datastore_uri
from mlctl.kinds.address import Scope

SCOPE = Scope("sub", "rg", "ws")
REST = "datastores/store/paths/A/b.csv"
LONG = f"azureml://subscriptions/sub/resourceGroups/rg/workspaces/ws/{REST}"


@pytest.mark.parametrize(
    "text",
    [
        f"azureml://{REST}",
        LONG,
        LONG.replace("resourceGroups", "resourcegroups"),
        LONG.replace("/ws/", "/WS/"),
        LONG.replace("/workspaces", "/providers/Microsoft.MachineLearningServices/workspaces"),
    ],
)
def test_every_spelling_becomes_the_long_one(text: str) -> None:
    kept = datastore_uri.long(text, SCOPE)
    assert kept == LONG
    assert datastore_uri.canonical(kept, SCOPE) == datastore_uri.canonical(text, SCOPE)
    lower = LONG.replace("resourceGroups", "resourcegroups")
    assert datastore_uri.long(text, SCOPE, "resourcegroups") == lower


def test_those_of_other_workspaces_keep_their_names_and_other_texts_stay() -> None:
    other = LONG.replace("/ws/", "/Other/")
    assert datastore_uri.long(other, SCOPE, "resourcegroups") == other.replace("Groups", "groups")
    for text in ("https://host/a", "azureml://jobs/j/outputs/artifacts/paths/m/", "a"):
        assert datastore_uri.long(text, SCOPE) == text

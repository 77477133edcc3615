"""The oldest azure-ai-ml that is supported: `make test-oldest-sdk` puts it first on the path."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib

import pytest

from tests.builders.paths import ROOT


def test_the_oldest_sdk_is_the_one_that_the_project_takes() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    match = re.search(r"^OLDEST_SDK = (\d+\.\d+)\.\d+$", makefile, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert match is not None
    assert f"azure-ai-ml>={match[1]},<2" in project["optional-dependencies"]["azure"]


def test_an_sdk_that_is_put_first_on_the_path_is_the_one_that_is_imported() -> None:
    sdk = pytest.importorskip("azure.ai.ml", reason="the azure extra is not installed")
    assert sdk.__version__ == importlib.metadata.version("azure-ai-ml")

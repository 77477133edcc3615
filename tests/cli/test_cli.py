"""The command before anything is imported: the version, a package of the same name, the verb."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlctl import __version__
from mlctl.cli import main, run


@pytest.mark.parametrize(
    ("installed", "version"),
    [
        ("mlctl-0.0.5.dist-info", "0.0.5"),
        ("mlctl-0.0.5-py3.11.egg-info", "0.0.5-py3.11"),
        (f"mlctl_azure-{__version__}.dist-info", None),
        ("mlctl_other-1.0.dist-info", None),
    ],
)
def test_a_package_of_this_name_that_is_somebody_elses_is_warned_of(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    installed: str,
    version: str | None,
) -> None:
    site = tmp_path / "site-packages"
    (site / installed).mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "dist-packages"), str(site), str(tmp_path)])
    monkeypatch.setattr(sys, "argv", ["mlctl", "--version"])
    main()
    printed = capsys.readouterr()
    assert printed.out == f"mlctl {__version__}\n"
    if version is None:
        assert printed.err == ""
    else:
        assert f"warning: the package `mlctl` {version} is somebody else's" in printed.err
        assert "pip uninstall mlctl" in printed.err


@pytest.mark.parametrize(
    ("line", "verb"),
    [
        ("plan .", "plan"),
        ("--backend local plan .", "plan"),
        ("--backend=local --debug plan .", "plan"),
        ("--env plan apply .", "apply"),
        ("--timeout 30 -g compute validate", "validate"),
        ("--back local plan .", None),  # cut short: what it is, only all commands say
        ("plam .", None),
        ("--help", None),
        ("", None),
    ],
)
def test_the_verb_is_known_behind_flags_of_every_command(line: str, verb: str | None) -> None:
    assert run._verb(line.split()) == verb

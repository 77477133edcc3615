"""What is released is called as every page says, and installs what was looked at."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from mlctl import __version__
from tests.builders.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# `mlctl` on the package index is somebody else's.
NAMESAKE = re.compile(
    r"""mlctl(?:\[|\s*[=~<>]=\s*[\d$"])          # of that name, a version or an extra
    | (?:pip|pipx|tool)[ ]install[ ](?:[^\n|;]*[ "'])?mlctl(?![\w/.-])
    | dependencies\s*=\s*\[[^]]*["']mlctl["']""",
    re.VERBOSE,
)


def tracked() -> list[Path]:
    """The files of the repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone of the repository")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize(
    "line",
    [
        "pip install 'mlctl[azure]'",
        "pip install --upgrade mlctl",
        "default: mlctl[azure]",
        'pip install "mlctl==$VERSION"',
        'dependencies = ["pyyaml", "mlctl"]',
    ],
)
def test_what_would_install_somebody_elses_package_is_seen(line: str) -> None:
    assert NAMESAKE.search(line)
    assert not NAMESAKE.search(line.replace("mlctl", "mlctl-azure"))


def test_no_file_tells_anybody_to_install_somebody_elses_package() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in tracked()
        if file != Path(__file__)
        for match in NAMESAKE.finditer(file.read_text(errors="replace"))
    ]
    assert found == []
    assert PROJECT["name"] == "mlctl-azure"


def test_versions_that_pages_and_pipelines_name_are_this_one() -> None:
    pattern = re.compile(r"mlctl-azure(?:\[[\w,]+\])?==(\d[\w.]*)")
    named = {
        file.relative_to(ROOT): version
        for file in tracked()
        for version in pattern.findall(file.read_text(errors="replace"))
    }
    assert set(named.values()) == {__version__}


def test_commits_and_tags_of_mlctl_that_samples_name_are_there() -> None:
    pattern = re.compile(r"mlctl/mlctl@([\w.]+)|github\.com/mlctl/mlctl\s+rev: (\S+)")
    texts = [file.read_text(errors="replace") for file in tracked() if file != Path(__file__)]
    named = {first or second for text in texts for first, second in pattern.findall(text)}
    assert named
    git = ["git", "-C", str(ROOT)]
    shallow = subprocess.check_output([*git, "rev-parse", "--is-shallow-repository"], text=True)
    if shallow.strip() == "true":
        pytest.skip("this clone has not all commits")
    for commit in named:
        action = f"{commit}:action.yml"
        assert subprocess.run([*git, "cat-file", "-e", action], check=False).returncode == 0, commit


def test_the_changelog_has_a_section_of_this_version() -> None:
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_package_that_mlctl_needs_has_an_upper_bound() -> None:
    extras = PROJECT["optional-dependencies"]
    needed = [*PROJECT["dependencies"], *extras["azure"], *extras["emulator"]]
    unbounded = [line for line in needed if "<" not in line]
    assert unbounded == []


def test_the_image_and_the_action_install_by_hashes_what_suits_mlctl() -> None:
    pinned: dict[str, tuple[Version, int]] = {}
    for entry in re.split(r"\n(?=\w)", (ROOT / "constraints.txt").read_text(encoding="utf-8")):
        if match := re.match(r"([\w.-]+)==(\S+)", entry):
            pinned[match[1]] = (Version(match[2]), entry.count("--hash=sha256:"))
    assert all(hashes for _, hashes in pinned.values())
    extras = PROJECT["optional-dependencies"]
    needed = [*PROJECT["dependencies"], *extras["azure"], *extras["emulator"], "hatchling>=1.26"]
    for requirement in map(Requirement, needed):
        version, _ = pinned[requirement.name]
        assert version in requirement.specifier, requirement
    for name in ("Dockerfile", "action.yml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(r"--require-hashes --requirement \S*/constraints\.txt", text)


def test_the_notice_names_everybody_whose_exchanges_were_recorded() -> None:
    recorded = ROOT / "conformance" / "recorded"
    notice = (recorded / "NOTICE").read_text(encoding="utf-8")
    files = recorded.glob("*.json")
    sources = [json.loads(file.read_text(encoding="utf-8"))["source"] for file in files]
    assert {
        source["repository"] for source in sources if source["repository"] not in notice
    } == set()
    assert "Copyright (c) Microsoft Corporation\n\nPermission is hereby granted" in notice
    if "Apache" in notice:
        assert "Apache License" in (recorded / "LICENSE-APACHE").read_text(encoding="utf-8")

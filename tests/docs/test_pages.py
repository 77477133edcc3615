"""The pages that are made from the program say what the program does."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

from docs.made import terminal
from docs.made.compatibility import AzFlag, Support, az_flags, compare_flags
from mlctl.cli.az.compatibility import compatibility
from mlctl.cli.parser import help as words
from mlctl.cli.parser.help import examples
from mlctl.cli.parser.tree import CommandNode
from mlctl.kinds import ALL
from mlctl.kinds.facts import API_VERSION
from tests.builders.commands import command_tree
from tests.builders.paths import ROOT as CHECKOUT
from tests.builders.shell import Run

DATA = CHECKOUT / "docs" / "data" / "az-ml.csv"
REFERENCE = CHECKOUT.parent / "shared" / "reference" / "az-ml-surface.md"
ROOT = command_tree()
FLAGS = az_flags(DATA.read_text())
VERDICTS = list(compare_flags(ROOT, FLAGS))


@pytest.fixture(scope="module")
def pages() -> dict[Path, str]:
    """What `make docs` would write."""
    spec = importlib.util.spec_from_file_location("generate", CHECKOUT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[Path, str] = module.pages()
    return made


def every_node(node: CommandNode) -> list[CommandNode]:
    return [node, *(below for one in node.children.values() for below in every_node(one))]


@pytest.mark.slow
def test_every_page_is_what_make_docs_writes(pages: dict[Path, str]) -> None:
    stale = [file.name for file, text in pages.items() if file.read_text() != text]
    assert not stale, "run: make docs"


@pytest.mark.slow
def test_the_picture_of_a_terminal_shows_what_the_commands_print() -> None:
    assert terminal.PICTURE.read_text() == terminal.draw(), "python -m docs.made.terminal draws it"


def test_no_page_of_commands_is_of_a_group_that_went(pages: dict[Path, str]) -> None:
    assert set((CHECKOUT / "docs" / "cli").iterdir()) <= set(pages)


def test_every_flag_of_az_has_a_verdict() -> None:
    assert len(VERDICTS) == len(FLAGS)
    assert all(one.why for one in VERDICTS if one.support is not Support.SAME)


def test_a_flag_that_is_neither_here_nor_explained_is_an_error() -> None:
    with pytest.raises(ValueError, match="`az ml compute create` has --zones: say why"):
        list(compare_flags(ROOT, [AzFlag("compute create", ("--zones",), required=False)]))


def test_a_flag_under_half_of_its_names_is_not_the_same() -> None:
    half = AzFlag("compute show", ("--name", "-z"), required=True)
    with pytest.raises(ValueError, match="has --name -z"):
        list(compare_flags(ROOT, [half]))


def test_a_flag_that_we_require_and_az_does_not_is_not_the_same() -> None:
    strict = AzFlag("compute show", ("--name", "-n"), required=False)
    with pytest.raises(ValueError, match="has --name -n"):
        list(compare_flags(ROOT, [strict]))


def test_no_note_is_stale() -> None:
    noted = {one.why for one in VERDICTS}
    assert set(compatibility().better.values()) <= noted
    assert set(compatibility().flags.values()) | set(compatibility().commands.values()) <= noted
    ours = {" ".join(node.path) for node in ROOT.commands()}
    assert not set(compatibility().commands) & ours


@pytest.mark.skipif(not REFERENCE.is_file(), reason="no ../shared/reference beside the checkout")
def test_the_data_has_every_command_and_flag_of_the_reference() -> None:
    groups = ("compute", "batch-endpoint", "batch-deployment", "model", "environment", "job")
    known: Counter[str] = Counter()
    for line in REFERENCE.read_text().splitlines():
        command, bold, flags = line.removeprefix("- **").partition("**")
        if bold and command.split(" ")[0] in groups:
            known[command] += flags.replace("`-w` optional", "").count("`--")
    listed = Counter(one.command for one in FLAGS if one.names and not one.shared)
    assert {command: listed[command] for command in known} == dict(known)


@pytest.mark.parametrize("node", every_node(ROOT), ids=lambda node: " ".join(("mlctl", *node.path)))
def test_help_prints_the_page(node: CommandNode, mlctl: Run) -> None:
    done = mlctl(*node.path, "--help")
    assert (done.code, done.out) == (0, words.text(node, examples(node.path), width=100))


def test_help_is_asked_for_by_h_too(mlctl: Run) -> None:
    assert mlctl("compute", "create", "-h").out == mlctl("compute", "create", "--help").out


def test_the_flags_of_a_cluster_are_grouped_as_az_groups_them() -> None:
    panels = words.panels(ROOT.children["compute"].children["create"])
    assert list(panels) == [
        *("Arguments", "AmlCompute Arguments", "ComputeInstance Arguments"),
        *("Global Policy Arguments", "Global Arguments"),
    ]
    # docs-ref-autogen/latest/ml/compute.yml
    assert sorted(one.long for one in panels["AmlCompute Arguments"]) == [
        *("--admin-password", "--admin-username", "--idle-time-before-scale-down", "--location"),
        *("--max-instances", "--min-instances", "--tier"),
    ]


def test_defaults_are_named_where_silence_means_them(mlctl: Run) -> None:
    assert "The most nodes that the cluster grows to. Default: 4." in " ".join(
        mlctl("compute", "create", "-h").out.split()
    )
    assert "Default: 4" not in mlctl("compute", "update", "-h").out


def test_help_fits_a_terminal() -> None:
    node = ROOT.children["compute"].children["create"]
    lines = words.text(node, (), width=80).splitlines()
    assert max(map(len, lines)) <= 80


def test_the_page_of_azure_has_the_version_that_each_kind_is_asked_with() -> None:
    text = (CHECKOUT / "docs" / "azure.md").read_text(encoding="utf-8")
    section = text.partition("## API versions")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z-]+) \| (20[\d-]+) \| (.*) \|$", section, re.MULTILINE)
    asked = {kind: version for kind, version, _ in rows}
    assert asked == {kind: ALL[kind].arm.api_version for kind in asked}
    others = {kind.arm.api_version for name, kind in ALL.items() if name not in asked}
    assert others <= {API_VERSION}  # whoever asks with another one says why
    for kind, version, needs in rows:
        assert all(since <= version for since in re.findall(r": (20[\d-]+)", needs)), kind

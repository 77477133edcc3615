"""Documents, their places, and the way to them from paths."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlctl import source
from mlctl.diagnostics import Label, Report
from mlctl.source import SourceFile, events
from mlctl.source.decode import MAX_BYTES
from mlctl.source.rules import SOURCE_RULES

TEXT = """\
name: low
tags: {owner: a, team: b}
base: &base
  - one   # a comment
  - two: 2

# another
copy: *base
text: |
  first
  last

empty:
"""


def read(text: str | bytes, name: str = "a.yml") -> source.Document:
    report = Report()
    (document,) = source.load(name, text, report)
    assert not report.failed, [found.message for found in report]
    return document


def codes(text: str | bytes) -> list[str]:
    report = Report()
    source.load("a.yml", text, report)
    return [found.rule.code for found in report]


def place(label: Label) -> tuple[int, int, int, int]:
    """One-based, as people say it."""
    span = label.span
    return span.line + 1, span.column + 1, span.end_line + 1, span.end_column + 1


def found(paths: list[str]) -> tuple[list[str], list[str]]:
    report = Report()
    files = [one.path for one in source.discover(paths, report)]
    return files, [one.message for one in report]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory: a.yml, b.yaml, notes.txt, deep/c.yml, .hidden/d.yml, .e.yml."""
    for name in ("a.yml", "b.yaml", "notes.txt", "deep/c.yml", ".hidden/d.yml", ".e.yml"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("name: a\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (("name",), (1, 7, 1, 10)),
        (("tags",), (2, 7, 2, 26)),
        (("tags", "team"), (2, 24, 2, 25)),
        (("base",), (3, 7, 5, 11)),
        (("base", 0), (4, 5, 4, 8)),
        (("base", 1), (5, 5, 5, 11)),
        (("copy",), (8, 7, 8, 12)),
        (("copy", 1, "two"), (5, 10, 5, 11)),
        (("text",), (9, 7, 11, 7)),
        (("empty",), (13, 7, 13, 7)),
        ((), (1, 1, 13, 7)),
    ],
)
def test_a_value_has_its_place(at: tuple[str | int, ...], expected: tuple[int, ...]) -> None:
    assert place(read(TEXT).label(at)) == expected


def test_a_key_has_its_place() -> None:
    assert place(read(TEXT).label(("tags", "team"), key=True)) == (2, 18, 2, 22)


def test_an_item_of_a_list_stands_for_its_key() -> None:
    assert place(read(TEXT).label(("base", 0), key=True)) == (4, 5, 4, 8)


def test_what_is_missing_is_shown_at_the_nearest_key_above_it() -> None:
    document = read(TEXT)
    assert place(document.label(("tags", "cost", "centre"))) == (2, 1, 2, 5)
    assert place(document.label(("base", 7))) == (3, 1, 3, 5)
    assert place(document.label(("name", "x"))) == (1, 1, 1, 5)
    assert place(document.label(("size",))) == (1, 1, 13, 7)


def test_a_label_carries_its_remark() -> None:
    assert read(TEXT).label(("name",), "here").text == "here"


def test_a_document_further_down_has_its_own_places() -> None:
    report = Report()
    _, second = source.load("a.yml", "name: a\n---\n# b\nname: b\ntags: {x: 1}\n", report)
    assert second.index == 1
    assert place(second.label(("tags", "x"))) == (5, 11, 5, 12)


def test_an_indented_document_without_a_mark_keeps_its_columns() -> None:
    assert place(read("# a\n\n  name: a\n  size: b\n").label(("size",))) == (4, 9, 4, 10)


def test_a_merged_key_has_its_place_at_the_anchor() -> None:
    document = read("a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n")
    assert place(document.label(("b", "x"))) == (1, 11, 1, 12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1.10", "1.10"), ("yes", "yes"), ("'yes'", "yes"), ("0x1F", "0x1F"), ("[a]", None), ("", "")],
)
def test_a_scalar_is_kept_as_written(text: str, expected: str | None) -> None:
    assert read(f"a: {text}\n").written(("a",)) == expected


def test_nothing_is_written_where_nothing_is() -> None:
    assert read("a: 1\n").written(("b",)) is None


def test_paths_inside_a_document_are_relative_to_its_file() -> None:
    assert read("a: 1\n", "some/where/a.yml").folder == Path("some/where")
    assert read("a: 1\n", "<stdin>").folder == Path()


def test_every_use_of_an_anchor_is_a_value_of_its_own() -> None:
    data = read("a: &a [1]\nb: *a\n").data
    data["a"].append(2)
    assert data["b"] == [1]


@pytest.mark.parametrize(
    ("outer", "inner", "fits"), [(99, 0, True), (100, 0, False), (50, 49, True), (50, 50, False)]
)
def test_a_hundred_levels_are_deep_enough_through_aliases_too(
    outer: int, inner: int, fits: bool
) -> None:
    anchor = "a: &a " + "[" * inner + "]" * inner + "\n" if inner else ""
    text = anchor + "b: " + "[" * outer + "*a" * bool(inner) + "]" * outer + "\n"
    assert codes(text) == ([] if fits else ["MLC008"])


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 10_000 + "]" * 10_000,
        "- " * 10_000,
        "a: " + "{a: " * 10_000,
        "\n".join(" " * depth + "a:" for depth in range(10_000)),
        "a: &a [x, x]\n"
        + "".join(f"a{n}: &a{n} [*a{n - 1 or ''}, *a{n - 1 or ''}]\n" for n in range(1, 90)),
        "a: &a {x: 1, y: 1}\n"
        + "".join(
            f"a{n}: &a{n} {{x: *a{n - 1 or ''}, y: *a{n - 1 or ''}}}\n" for n in range(1, 90)
        ),
        pytest.param("a: [" + "a," * 200_000 + "]", marks=pytest.mark.slow),
        "---\n" * 200_000,
        pytest.param(
            "a: [" + "1:" * 100 + "1]\nb: [" + "[],\n" * 300_000 + "]", marks=pytest.mark.slow
        ),
    ],
    ids=["flow", "list", "mapping", "block", "laughs", "mappings", "wide", "parts", "empties"],
)
def test_a_text_that_would_exhaust_memory_is_too_big(text: str) -> None:
    assert codes(text)[-1] == "MLC008"


def test_a_chain_of_aliases_is_as_deep_as_what_it_stands_for() -> None:
    links = "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 110))
    assert codes("a0: &a0 x\n" + links) == ["MLC008"]


@pytest.mark.parametrize(
    "text", ['"1e3"', '!!int "012"', "!!int 012", "!!bool yes", "'0o17'", "v1e3", "1.10"]
)
def test_a_value_that_says_what_it_is_gets_no_warning(text: str) -> None:
    assert codes(f"a: {text}\n") == []


def test_a_number_of_a_million_parts_is_refused_at_once() -> None:
    assert codes("a: 1" + ":1" * 1_000_000) == ["MLC012"]


def test_a_file_is_not_read_when_it_is_too_big(tmp_path: Path) -> None:
    huge = tmp_path / "huge.yml"
    with huge.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    report = Report()
    assert source.read(huge, report) == []
    assert [one.rule.code for one in report] == ["MLC008"]


def test_a_pipe_is_read_only_as_far_as_it_may_be() -> None:
    report = Report()
    assert source.read("/dev/zero", report) == []
    assert [one.rule.code for one in report] == ["MLC008"]


def test_a_text_that_is_just_small_enough_is_read() -> None:
    assert codes("a: 1\n#" + "x" * (MAX_BYTES - 6)) == []
    assert codes("a: 1\n#" + "x" * (MAX_BYTES - 5)) == ["MLC008"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing.yml", "no such file"),
        ("deep", "is a directory"),
        ("a\0b", "it is not a valid file name"),
    ],
)
def test_what_cannot_be_read_says_why(folder: Path, path: str, words: str) -> None:
    report = Report()
    assert source.read(path, report) == []
    assert [words in one.message and one.hint is not None for one in report] == [True]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_says_so(folder: Path) -> None:
    (folder / "a.yml").chmod(0)
    report = Report()
    source.read("a.yml", report)
    assert ["permission" in one.message for one in report] == [True]


def test_an_empty_file_is_passed_over_where_it_was_not_named(folder: Path) -> None:
    (folder / "a.yml").write_text("# nothing\n")
    report = Report()
    assert source.read("a.yml", report, explicit=False) == []
    assert not len(report)


def test_a_folder_is_searched_to_its_ends_without_hidden_things(folder: Path) -> None:
    assert found(["."]) == (["a.yml", "b.yaml", "deep/c.yml"], [])
    assert found([str(folder)])[0] == [
        str(folder / name) for name in ("a.yml", "b.yaml", "deep/c.yml")
    ]


def test_a_hidden_folder_is_searched_when_it_is_named(folder: Path) -> None:
    assert found([".hidden"]) == ([".hidden/d.yml"], [])


def test_a_glob_that_the_shell_left_alone_is_expanded(folder: Path) -> None:
    assert found(["**/*.yml"]) == (["a.yml", "deep/c.yml"], [])
    assert found(["d*"]) == (["deep/c.yml"], [])


def test_a_file_with_the_marks_of_a_glob_in_its_name_is_that_file(folder: Path) -> None:
    (folder / "[a].yml").write_text("name: a\n")
    assert found(["[a].yml"]) == (["[a].yml"], [])


@pytest.mark.parametrize("path", ["*.json", "nothing*", ".git"])
def test_what_matches_nothing_is_an_error(folder: Path, path: str) -> None:
    (folder / ".git").mkdir()
    assert found([path]) == ([], [f"`{path}` matches no file"])


def test_a_file_named_twice_is_read_once_and_counts_as_named(folder: Path) -> None:
    report = Report()
    files = source.discover([".", "./deep/../a.yml", "a.yml", "-", "-"], report)
    assert [one for one in files if one.explicit] == [
        SourceFile("./deep/../a.yml", explicit=True),
        SourceFile("-", explicit=True),
    ]
    assert len(files) == 4


def test_a_loop_of_links_ends(folder: Path) -> None:
    (folder / "deep" / "up").symlink_to(folder)
    (folder / "self").symlink_to(folder / "self")
    (folder / "deep" / "again").symlink_to(folder / "deep")
    assert found(["."]) == (["a.yml", "b.yaml", "deep/c.yml"], [])


def test_a_file_and_a_link_to_it_are_read_once(folder: Path) -> None:
    (folder / "z.yml").symlink_to(folder / "a.yml")
    (folder / "deep" / "z.yml").symlink_to("../b.yaml")
    assert len(found(["."])[0]) == 3


def test_links_to_what_a_folder_is_in_and_to_the_kernel_are_not_followed(
    folder: Path,
) -> None:
    (folder.parent / "above.yml").write_text("name: x\n")
    for name, target in (("up", ".."), ("root", "/"), ("self", "/proc/self")):
        (folder / name).symlink_to(target)
    assert found(["."]) == (["a.yml", "b.yaml", "deep/c.yml"], [])


def test_a_folder_without_end_is_a_finding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlctl.source.files.MAX_ENTRIES", 2)
    assert "`.` has more than 2 files and folders" in found(["."])[1]


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.yml")
    report = Report()
    assert source.read(tmp_path / "a.yml", report, explicit=False) == []
    assert [one.rule.code for one in report] == ["MLC011"]


def test_a_linked_folder_is_searched(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "z.yml").write_text("name: z\n")
    (folder / "link").symlink_to(other)
    assert found(["."])[0] == ["a.yml", "b.yaml", "deep/c.yml", "link/z.yml"]


def test_a_missing_file_is_left_to_the_reader_to_report(folder: Path) -> None:
    assert found(["missing.yml"]) == (["missing.yml"], [])


def test_data_goes_to_yaml_and_back() -> None:
    data = {"b": [1, "2", None], "a": {"é": "yes"}}
    assert source.plain(source.dump(data)) == data
    assert list(source.plain(source.dump(data))) == ["b", "a"]


def test_text_that_is_no_yaml_stays_text() -> None:
    assert source.plain("a: [") == "a: ["


def test_without_libyaml_the_same_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read(TEXT)
    monkeypatch.setattr(events, "CParser", None)
    slow = read(TEXT)
    assert fast.data == slow.data
    assert place(fast.label(("copy", 1, "two"))) == place(slow.label(("copy", 1, "two")))


def test_reading_imports_nothing_that_only_the_edge_needs() -> None:
    code = "import mlctl.source, sys; print({'rich', 'jsonschema', 'azure'} & {*sys.modules})"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


def test_the_rules_have_codes_of_their_own_and_full_prose() -> None:
    assert len({rule.code for rule in SOURCE_RULES}) == len(SOURCE_RULES) == 12
    assert all(rule.code.startswith("MLC0") for rule in SOURCE_RULES)
    assert all(rule.documented().why and rule.documented().fix for rule in SOURCE_RULES)


def test_the_number_that_is_meant_is_one_that_is_read_as_a_number() -> None:
    report, again = Report(), Report()
    source.load("a.yml", b"rate: 1e-5\n", report)
    assert ["1.0e-05" in str(one.hint) for one in report] == [True]
    (document,) = source.load("a.yml", b"rate: 1.0e-05\n", again)
    assert (document.data, len(again)) == ({"rate": 1e-5}, 0)

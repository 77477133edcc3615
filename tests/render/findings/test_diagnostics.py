"""One report in its five forms."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

from mlctl.diagnostics import Diagnostic, Label, Report, Rule, Severity, SourceText, Span
from mlctl.render.findings import diagnostics, machine
from mlctl.render.terminal.terminal import cells, clean, width
from mlctl.source.rules import SOURCE_RULES
from tests.builders.paths import TESTS

UNKNOWN = Rule("MLC102", "unknown-field", Severity.ERROR, "a field is unknown", "because", "do")
ODD = Rule("MLC301", "odd", Severity.WARNING, "odd", "because", "do", origin="a document")
TEXT = "$schema: x\nname: a\nsize: b\ntire: low_priority\n"


def label(
    text: str, line: int, column: int, length: int, remark: str = "", name: str = "train.yml"
) -> Label:
    """One-based line and column, as they are shown."""
    span = Span(SourceText(name, text), line - 1, column - 1, line - 1, column - 1 + length)
    return Label(span, remark)


def reported(*found: Diagnostic, strict: bool = False) -> Report:
    report = Report(strict=strict)
    report.add(*found)
    return report


def typo(text: str = TEXT, at: Label | None = None, **more: Any) -> Diagnostic:
    at = at or label(text, 4, 1, 4)
    return Diagnostic(UNKNOWN, "unknown field `tire`", at, "did you mean `tier`?", **more)


def human(*found: Diagnostic, width: int = 80) -> str:
    return diagnostics.report(reported(*found), width=width)


def underlined(text: str, line: int, column: int, length: int, width: int = 80) -> str:
    """What stands above the carets."""
    shown = human(typo(at=label(text, line, column, length)), width=width).splitlines()
    start = shown[4].index("^")
    return shown[3][start : start + shown[4].count("^")]


def as_json(*found: Diagnostic) -> Any:
    return json.loads(machine.as_json(reported(*found)))


def as_sarif(*found: Diagnostic) -> Any:
    log = json.loads(machine.sarif(reported(*found)))
    schema = TESTS / "data" / "sarif-2.1.0.schema.json"
    jsonschema.validate(log, json.loads(schema.read_text()))
    return log["runs"][0]


def test_a_finding_is_its_line_underlined() -> None:
    assert human(typo()) == (
        "error[MLC102]: unknown field `tire`\n"
        " --> train.yml:4:1\n"
        "  |\n"
        "4 | tire: low_priority\n"
        "  | ^^^^\n"
        "  = hint: did you mean `tier`?\n"
    )


def test_findings_are_parted_by_a_blank_line_and_sorted() -> None:
    first = Diagnostic(ODD, "odd", label(TEXT, 2, 1, 4))
    shown = human(typo(), first)
    assert shown.index("warning[MLC301]") < shown.index("\n\nerror[MLC102]")


def test_a_related_place_nearby_is_shown_in_the_same_snippet() -> None:
    near = Label(label(TEXT, 4, 1, 4).span, "here")
    other = Label(Span(near.span.source, 1, 0, 1, 4), "the other")
    assert human(Diagnostic(ODD, "odd", near, None, (other,))) == (
        "warning[MLC301]: odd\n"
        " --> train.yml:4:1\n"
        "  |\n"
        "2 | name: a\n"
        "  | ---- the other\n"
        "...\n"
        "4 | tire: low_priority\n"
        "  | ^^^^ here\n"
    )


def test_a_related_place_in_another_file_gets_a_snippet_of_its_own() -> None:
    other = label("a: 1\n" * 12, 12, 1, 1, "the other", "other.yml")
    assert human(typo(related=(other,))) == (
        "error[MLC102]: unknown field `tire`\n"
        "  --> train.yml:4:1\n"
        "   |\n"
        " 4 | tire: low_priority\n"
        "   | ^^^^\n"
        "   |\n"
        "  --> other.yml:12:1\n"
        "   |\n"
        "12 | a: 1\n"
        "   | - the other\n"
        "   = hint: did you mean `tier`?\n"
    )


def test_a_finding_without_a_place_names_its_resource() -> None:
    found = Diagnostic(ODD, "odd", None, "wait", address="compute/a")
    assert human(found) == "warning[MLC301]: odd\n  = resource: compute/a\n  = hint: wait\n"


def test_an_empty_span_gets_one_caret() -> None:
    assert human(typo("a:\n", label("a:\n", 1, 3, 0))).splitlines()[4] == "  |   ^"


def test_a_place_behind_the_last_line_is_no_failure() -> None:
    assert " --> train.yml:9:1" in human(typo(at=label("a: 1\n", 9, 1, 3)))


def test_a_span_over_several_lines_underlines_its_first() -> None:
    span = Span(SourceText("a.yml", "a: [1,\n 2]\n"), 0, 3, 1, 3)
    assert human(Diagnostic(ODD, "odd", Label(span))).splitlines()[3:] == [
        "1 | a: [1,",
        "  |    ^^^",
    ]


@pytest.mark.parametrize("before", ["\t", "a\t", "na\u200bme: ", "\x1b[0m", "\u202e"])
def test_carets_stand_below_the_text_whatever_precedes_it(before: str) -> None:
    assert underlined(f"{before}name: a", 1, len(before) + 1, 4) == "name"


def test_a_character_that_is_spelt_out_is_underlined_whole() -> None:
    assert underlined("a\x1bb", 1, 2, 1) == r"\x1b"


def test_wide_characters_take_two_columns_and_marks_none() -> None:
    assert width(cells("日本")) == 4
    assert width(cells("e\u0301")) == 1
    assert width(cells("a\tb")) == 5
    assert human(typo(at=label("日本: x", 1, 5, 1))).splitlines()[4] == "  |       ^"


@pytest.mark.parametrize("column", [1, 200, 500, 995])
@pytest.mark.parametrize("room", [10, 40, 80, 200])
def test_a_long_line_is_cut_to_the_width_around_its_fault(column: int, room: int) -> None:
    text = "x" * (column - 1) + "fault" + "y" * (995 - column)
    assert underlined(text, 1, column, 5, room) == "fault"
    lines = human(typo(at=label(text, 1, column, 5)), width=room).splitlines()
    assert len(lines[3]) <= max(room, 24)


def test_a_fault_longer_than_the_screen_is_underlined_as_far_as_it_is_seen() -> None:
    lines = human(typo(at=label("x" * 3000, 1, 1, 3000)), width=40).splitlines()
    assert lines[3:5] == ["1 | " + "x" * 34 + "…", "  | " + "^" * 34]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a ##vso[task.setvariable variable=x]b", r"a #\x23vso[task.setvariable variable=x]b"),
        ("###VSO[build.addbuildtag]x", r"##\x23VSO[build.addbuildtag]x"),
        ("##[set-env name=x]y", r"#\x23[set-env name=x]y"),
        ("  ::set-env name=x::y", r"  \x3a:set-env name=x::y"),
        ("## a heading [1]", "## a heading [1]"),
        ("a::b", "a::b"),
    ],
)
def test_what_a_build_agent_would_obey_is_spelt_out(said: str, shown: str) -> None:
    assert clean(said) == shown
    in_a_line = human(Diagnostic(UNKNOWN, said, label(f"x: {said}", 1, 4, len(said), said), said))
    assert not re.search(r"(?im)##(vso)?\[|^\s*::", in_a_line)


def test_what_could_steer_a_terminal_is_spelt_out() -> None:
    assert clean("a\x1b[2J\u202e\n\x9b\ud800é日") == r"a\x1b[2J\u202e\x0a\x9b\ud800é日"
    evil = Diagnostic(
        UNKNOWN, "field `\x1b[31m`", label("\x1b]0;\x07", 1, 1, 3, "\x1b", "\x1b.yml"), "\x1b"
    )
    assert "\x1b" not in human(evil)
    assert "\x1b" not in machine.github(reported(evil)) + machine.azure_pipelines(reported(evil))


def test_colour_changes_no_text() -> None:
    colored = diagnostics.report(reported(typo()), color=True)
    assert "\x1b[1;31merror[MLC102]\x1b[0m" in colored
    plain = colored
    for code in ("1;31", "1;33", "1;34", "1;36", "1", "0"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert plain == human(typo())


def test_an_empty_report_is_empty_text() -> None:
    assert human() == machine.github(reported()) == machine.azure_pipelines(reported()) == ""


def test_under_strict_a_warning_is_an_error_in_every_form() -> None:
    report = reported(Diagnostic(ODD, "odd", label(TEXT, 1, 1, 1)), strict=True)
    assert diagnostics.report(report).startswith("error[MLC301]")
    assert json.loads(machine.as_json(report))["diagnostics"][0]["severity"] == "error"
    assert machine.github(report).startswith("::error ")
    assert '"level": "error"' in machine.sarif(report)


def test_json_has_terraforms_shape() -> None:
    text = "é: 日\r\ntire: x\n"
    found = typo(at=label(text, 2, 1, 4), address="compute/a")
    assert as_json(found) == {
        "format_version": "1.0",
        "valid": False,
        "error_count": 1,
        "warning_count": 0,
        "diagnostics": [
            {
                "severity": "error",
                "code": "MLC102",
                "summary": "unknown field `tire`",
                "detail": "did you mean `tier`?",
                "address": "compute/a",
                "range": {
                    "filename": "train.yml",
                    "start": {"line": 2, "column": 1, "byte": 9},
                    "end": {"line": 2, "column": 5, "byte": 13},
                },
                "snippet": {
                    "context": "compute/a",
                    "code": "tire: x",
                    "start_line": 2,
                    "highlight_start_offset": 0,
                    "highlight_end_offset": 4,
                    "values": [],
                },
            }
        ],
    }


def test_json_without_a_place_has_no_range() -> None:
    (found,) = as_json(Diagnostic(ODD, "odd", None))["diagnostics"]
    assert found["range"] is found["snippet"] is None


def test_json_names_related_places_in_words() -> None:
    other = label("a: 1\n", 1, 1, 1, "first here", "other.yml")
    (found,) = as_json(typo(related=(other,)))["diagnostics"]
    assert found["detail"] == "did you mean `tier`?; first here: other.yml:1:1"


def test_json_is_ascii() -> None:
    assert machine.as_json(reported(typo(at=label("é\x9b", 1, 1, 1)))).isascii()


def test_offsets_in_bytes_agree_with_the_text() -> None:
    text = "a: 1\r\nb: é\u2028日: x\n\n😀: y\n"
    for line, part in enumerate(["a: 1", "b: é", "日: x", "", "😀: y"], start=1):
        (found,) = as_json(typo(at=label(text, line, 1, len(part))))["diagnostics"]
        span = found["range"]
        assert text.encode()[span["start"]["byte"] : span["end"]["byte"]].decode() == part


def test_github_gets_a_command_per_finding() -> None:
    assert machine.github(reported(typo())) == (
        "::error file=train.yml,line=4,endLine=4,col=1,endColumn=5,title=MLC102"
        "::unknown field `tire` (did you mean `tier`?)\n"
    )


def test_githubs_marks_are_escaped() -> None:
    found = Diagnostic(ODD, "100%: a,b\nc", label(TEXT, 1, 1, 1, "", "a,b:c%.yml"))
    assert machine.github(reported(found)) == (
        "::warning file=a%2Cb%3Ac%25.yml,line=1,endLine=1,col=1,endColumn=2,title=MLC301"
        r"::100%25: a,b\x0ac" + "\n"
    )


def test_azure_pipelines_gets_a_command_per_finding() -> None:
    found = Diagnostic(ODD, "100%; a]", label(TEXT, 1, 1, 1, "", "a;b].yml"))
    assert machine.azure_pipelines(reported(found)) == (
        "##vso[task.logissue type=warning;sourcepath=a%3Bb%5D.yml;linenumber=1;columnnumber=1;"
        "code=MLC301]100%AZP25; a]\n"
    )


def test_sarif_is_valid_and_holds_the_rules_that_fired() -> None:
    odd = Diagnostic(ODD, "odd", label(TEXT, 1, 1, 1))
    run = as_sarif(
        typo(related=(label(TEXT, 2, 1, 4, "there"),)), odd, Diagnostic(ODD, "odder", None)
    )
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["MLC102", "MLC301"]
    assert [rules[one["ruleIndex"]]["id"] for one in run["results"]] == [
        one["ruleId"] for one in run["results"]
    ]


def test_sarif_counts_from_one_and_links_related_places() -> None:
    (result,) = as_sarif(typo(related=(label(TEXT, 2, 1, 4, "there"),)))["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "train.yml"},
        "region": {"startLine": 4, "startColumn": 1, "endLine": 4, "endColumn": 5},
    }
    assert result["relatedLocations"][0]["message"] == {"text": "there"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a b/ü#1.yml", "a%20b/%C3%BC%231.yml"),
        ("/tmp/a.yml", "file:///tmp/a.yml"),
        ("<stdin>", "%3Cstdin%3E"),
        ("c:d.yml", "c%3Ad.yml"),
        ("../a.yml", "../a.yml"),
    ],
)
def test_sarif_paths_are_uris(name: str, expected: str) -> None:
    (result,) = as_sarif(typo(at=label(TEXT, 1, 1, 1, "", name)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == expected


def test_every_rule_about_text_makes_valid_sarif() -> None:
    found = [
        Diagnostic(rule, rule.documented().summary, label(TEXT, 1, 1, 1)) for rule in SOURCE_RULES
    ]
    assert len(as_sarif(*found)["tool"]["driver"]["rules"]) == len(SOURCE_RULES)


@pytest.mark.parametrize(
    ("finding", "report", "fails"),
    [
        (typo(preview=True), Report(), True),
        (typo(preview=True), Report(lenient=True), True),
        (typo(preview=True), Report(previews=True), False),
        (typo(preview=True), Report(previews=True, strict=True), True),
        (typo(accepted=True), Report(lenient=True), False),
        (typo(accepted=True), Report(previews=True), True),
    ],
)
def test_a_private_preview_passes_where_code_runs_here_and_not_where_az_refuses_it(
    finding: Diagnostic, report: Report, fails: bool
) -> None:
    report.add(finding)
    assert report.failed is fails

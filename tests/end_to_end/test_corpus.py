"""Real files that other people wrote get the verdict of their index, at the right place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import pytest

from mlctl import source
from mlctl.config.loader import Loader
from mlctl.diagnostics import Diagnostic, Report, Severity, Span
from mlctl.pointer import Pointer
from tests.builders.paths import SHARED

CORPUS = SHARED / "corpus"
TODAY = date(2026, 6, 18)

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="no ../shared/corpus beside the checkout"
)


@dataclass(frozen=True)
class Row:
    file: str
    verdict: str
    reasons: tuple[str, ...]
    placeholders: tuple[str, ...]

    def __str__(self) -> str:
        return self.file


@dataclass(frozen=True)
class Wanted:
    """A finding that must be there: its rule, its field, and whether the key is to blame."""

    code: str
    at: Pointer
    key: bool = False
    says: str = ""


def rows() -> list[Row]:
    index = CORPUS / "INDEX.tsv"
    if not index.is_file():
        return []
    head, *lines = index.read_text(encoding="utf-8").splitlines()
    table = [dict(zip(head.split("\t"), line.split("\t"), strict=False)) for line in lines]
    return [
        Row(
            one["file"],
            one["verdict"],
            tuple(filter(None, one["reject_reasons"].split("; "))),
            tuple(filter(None, one["placeholders"].split(","))),
        )
        for one in table
    ]


def checked(row: Row) -> tuple[source.Document, list[Diagnostic]]:
    path, report = CORPUS / row.file, Report()
    (document,) = source.load(str(path), path.read_bytes(), report)
    Loader(report, TODAY).check([(source.SourceFile(str(path), explicit=True), document)])
    return document, [one for one in report if one.rule.severity is Severity.ERROR]


# What a reason of the index says -> the findings that say the same. A group is a field.
REASONS: tuple[tuple[str, str], ...] = (
    (r"(?P<value>name) (length|')", "MLC106"),
    (r"(?P<value>type) '", "MLC104"),
    (r"(?P<value>tier) '", "MLC104"),
    (r"(?P<value>environment) '", "MLC107"),
    (r"(?P<key>compute): not a key of pipeline", "MLC101"),
    (r"(?P<key>settings) without type", "MLC109"),
    (r"(?P<key>model\.local_path)/model_uri", "MLC101"),
    (r"(?P<value>identity\.user_assigned_identities) must be objects", "MLC103"),
    (r"unknown key\(s\): (?P<key>.+)", "MLC101"),
    (r"(?P<missing>\w+) missing", "MLC102"),
    (r"GA value is|must start with", ""),  # the second half of the sentence before it
)
PREVIEW_KEYS = ("traffic", "deployments", "type", "endpoint_name")


def wanted(row: Row, document: source.Document) -> Iterator[Wanted]:
    for reason in row.reasons:
        if reason.startswith("2021 preview shape"):
            for key in PREVIEW_KEYS:
                if key in document.data:
                    yield Wanted("MLC101", (key,), key=True)
            continue
        pattern, code = next((p, c) for p, c in REASONS if re.match(p, reason))
        for how, names in re.match(pattern, reason).groupdict().items():  # type: ignore[union-attr]
            for name in names.split(", "):
                at: Pointer = () if how == "missing" else tuple(name.split("."))
                at = (*at, 0) if code == "MLC103" else at
                yield Wanted(code, at, key=how == "key", says=f"`{name}`" * (how == "missing"))
    for name in row.placeholders:
        # Another resource's name and the value of an environment variable may be any text.
        if name in ("name", "endpoint_name"):
            yield Wanted("MLC106", (name,))
        if name == "identity.resource_id":
            at = ("identity", "user_assigned_identities", 0, "resource_id")
            yield Wanted("MLC107", at)


def start(span: Span) -> tuple[int, int]:
    return span.line, span.column


def failures(row: Row) -> list[str]:
    document, errors = checked(row)
    expected = list(wanted(row, document))
    failed = [f"no {one}" for one in expected if not any(is_it(one, document, e) for e in errors)]
    if not expected:
        failed += [f"{one.rule.code} {one.message}" for one in errors]
    return failed


def is_it(one: Wanted, document: source.Document, error: Diagnostic) -> bool:
    place = document.label(one.at, key=one.key)
    return (
        error.rule.code == one.code
        and error.primary is not None
        and start(error.primary.span) == start(place.span)
        and one.says in error.message
    )


@pytest.mark.parametrize("row", rows(), ids=str)
def test_a_real_file_gets_the_verdict_of_the_index(row: Row) -> None:
    assert failures(row) == []
    assert bool(row.reasons) == (row.verdict in ("reject", "incomplete"))


def test_the_score_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    table = rows()
    right = [row for row in table if not failures(row)]
    with capsys.disabled():
        for verdict in ("accept", "reject", "incomplete", "template"):
            of = [row for row in table if row.verdict == verdict]
            print(f"\n{verdict}: {len([row for row in of if row in right])} of {len(of)}", end="")
        print(f"\ncorpus: {len(right)} of {len(table)} verdicts agree")
    assert len(right) == len(table)

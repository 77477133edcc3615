"""Real files of jobs, components and assets get the verdict of azure-ai-ml, at the right place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import pytest

from mlctl import source
from mlctl.config.loader import Loader
from mlctl.diagnostics import Diagnostic, Report, Severity
from mlctl.kinds import Kind, kind_of_schema
from mlctl.pointer import Pointer
from tests.builders.paths import SHARED

CORPUS = SHARED / "corpus-kinds"
TODAY = date(2026, 6, 18)

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="no ../shared/corpus-kinds beside the checkout"
)
_OF_MODEL = ("model", "properties")
# What the words of the SDK mean here: a piece of them, the rule, and the field to blame.
REASONS: tuple[tuple[str, str, Pointer], ...] = (
    ('"environment', "MLC107", ("environment",)),
    ("Component name should only contain", "MLC106", ("name",)),
    ('endpoint_name"": [ ""Missing', "MLC102", ()),
    ('"name"": [ ""String does not match', "MLC106", ("name",)),
    ('"model"": [ { ""_schema', "MLC103", (*_OF_MODEL, "azureml.promptflow.source_flow_id")),
)
# What the SDK loads and no service takes: text that a person is to replace, where a name belongs.
PLACEHOLDERS = {
    "cli/endpoints/online/managed/openapi/deployment.yml": ["MLC106"],
    "cli/generative-ai/promptflow/deploy-flow/endpoint-user-identity.yaml": ["MLC107"],
}


@dataclass(frozen=True)
class Row:
    """A line of the index."""

    file: str
    kind: str
    verdict: str
    error: str

    def __str__(self) -> str:
        return self.file

    @property
    def known(self) -> bool:
        """Whether mlctl has documents of the kind."""
        return isinstance(kind_of_schema(f"{self.kind}.schema.json"), Kind)


def rows() -> list[Row]:
    index = CORPUS / "INDEX.tsv"
    if not index.is_file():
        return []
    lines = [line.split("\t") for line in index.read_text(encoding="utf-8").splitlines()[1:]]
    return [Row(one[0], one[1], one[4], one[5] if len(one) > 5 else "") for one in lines]


def errors(row: Row) -> tuple[source.Document, list[Diagnostic]]:
    path, report = CORPUS / row.file, Report()
    (document,) = source.load(str(path), path.read_bytes(), report)
    Loader(report, TODAY).check([(source.SourceFile(str(path), explicit=True), document)])
    return document, [one for one in report if one.rule.severity is Severity.ERROR]


def failures(row: Row) -> list[str]:
    document, found = errors(row)
    if row.file in PLACEHOLDERS:
        codes = [one.rule.code for one in found]
        return [] if codes == PLACEHOLDERS[row.file] else codes
    if row.verdict == "accept":
        return [f"{one.rule.code} {one.message}" for one in found]
    for piece, code, at in REASONS:
        if piece in row.error:
            place = document.label(at).span
            right = [one for one in found if one.rule.code == code and one.primary]
            return [] if any(one.primary and one.primary.span == place for one in right) else [code]
    return [f"nobody has said what is meant by: {row.error}"]


@pytest.mark.parametrize("row", [one for one in rows() if one.known], ids=str)
def test_a_real_file_gets_the_verdict_of_the_index(row: Row) -> None:
    assert failures(row) == []


def test_files_of_other_kinds_are_left_alone_in_one_line() -> None:
    loaded = Loader(Report(), TODAY).load([str(CORPUS / "cli" / "resources")])
    strange = [note for note in loaded.notes if "because mlctl does not know their kinds" in note]
    assert len(strange) <= 1
    others = [one for one in rows() if not one.known]
    for row in others:
        _, found = errors(row)
        expected = ["MLC104"] if row.verdict == "reject" else []  # checked, and left to others
        assert [one.rule.code for one in found] == expected, row


def test_the_score_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    known = [one for one in rows() if one.known]
    right = {row for row in known if not failures(row)}
    with capsys.disabled():
        for kind in sorted({one.kind for one in known}):
            of = [row for row in known if row.kind == kind]
            print(f"\n{kind}: {len([row for row in of if row in right])} of {len(of)}", end="")
        print(f"\ncorpus of kinds: {len(right)} of {len(known)} verdicts agree")
    assert right == set(known)

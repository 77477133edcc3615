"""Rows as inputs: what an MLTable says, and what `run` is given."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mlctl.rehearsal import tables
from mlctl.rehearsal.inputs import Inputs, RehearsalError
from mlctl.rehearsal.scoring.rehearsal import rehearse
from mlctl.rehearsal.stage import KillSchedule
from tests.builders import rehearsed

# A module that reads what pandas reads, as far as a rehearsal asks it to.
PANDAS = """\
import csv, json, pickle


class Frame:
    def __init__(self, rows):
        self.rows = rows
        self.columns = list(rows[0]) if rows else []

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, keys):
        if isinstance(keys, str):
            return [row[keys] for row in self.rows]
        return Frame([{key: row[key] for key in keys} for row in self.rows])

    @property
    def iloc(self):
        return Positions(self.rows)

    def reset_index(self, drop):
        return self

    def drop(self, columns):
        return self[[one for one in self.columns if one not in columns]] if columns else self

    def to_pickle(self, path):
        with open(path, "wb") as file:
            pickle.dump(self, file)

    def groupby(self, keys):
        found = {}
        for number, row in enumerate(self.rows):
            found.setdefault(tuple(row[key] for key in keys), []).append(number)
        return type("Groups", (), {"groups": found})


class Positions:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, numbers):
        return Frame([self.rows[one] for one in numbers])


def read_csv(path, sep=",", encoding="utf-8", header=0):
    with open(path, encoding=encoding, newline="") as file:
        return Frame(list(csv.DictReader(file, delimiter=sep)))


def read_json(path, lines):
    with open(path) as file:
        return Frame([json.loads(one) for one in file])


read_parquet = None


def concat(frames, ignore_index):
    return Frame([row for one in frames for row in one.rows])
"""
SCORES = """\
def run(mini_batch):
    return [f"{n} {len(n)}" for n in mini_batch["name"]]
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Variables with which a Python finds the module above."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "pandas.py").write_text(PANDAS)
    return {**os.environ, "PYTHONPATH": str(tmp_path / "lib")}


def table(folder: Path, text: str = "") -> Path:
    """An MLTable of two files with five rows each."""
    folder.mkdir()
    for part in "ab":
        rows = "".join(f"{part}{number};{number % 2}\n" for number in range(5))
        (folder / f"{part}.csv").write_text(f"name;key\n{rows}")
    reads = "  - read_delimited: {delimiter: ';', encoding: ascii}\n"
    (folder / "MLTable").write_text(
        f"paths:\n  - pattern: ./*.csv\ntransformations:\n{reads}{text}"
    )
    return folder


def brought(path: Path, environment: dict[str, str], *keys: str) -> Inputs:
    told = tables.find(path)
    to = path.parent / "to"
    return tables.load(told, keys, rehearsed.interpreter(), to, environment)


def test_the_rows_of_an_mltable_are_counted_in_the_order_of_its_files(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    inputs = brought(table(tmp_path / "t"), environment)
    assert (len(inputs.names), inputs.unit, inputs.names[-1]) == (10, "row", "9")
    assert inputs.mini_batches(inputs.rows_of(inputs.bytes // 2)) == (
        ("0", "1", "2", "3", "4"),
        ("5", "6", "7", "8", "9"),
    )


def test_rows_with_the_same_keys_stay_together(tmp_path: Path, environment: dict[str, str]) -> None:
    inputs = brought(table(tmp_path / "t"), environment, "key")
    assert inputs.mini_batches(1) == (
        ("0", "2", "4", "5", "7", "9"),
        ("1", "3", "6", "8"),
    )


def test_run_gets_rows_and_a_loss_costs_none(tmp_path: Path, environment: dict[str, str]) -> None:
    inputs = brought(table(tmp_path / "t"), environment)
    deployment = rehearsed.written(tmp_path, SCORES, mini_batch_size=3)
    stage = replace(rehearsed.stage(tmp_path / "stage"), environment=environment)
    done = rehearse(deployment, inputs, KillSchedule(kills=2), stage)
    assert rehearsed.shown(done) == []
    assert sorted(done.first.all_rows()) == sorted(f"{p}{n} 2" for p in "ab" for n in range(5))
    assert [len(done.first.scored[one].rows) for one in range(4)] == [3, 3, 3, 1]


def test_rows_that_run_does_not_return_are_told(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    inputs = brought(table(tmp_path / "t"), environment)
    text = "def run(mini_batch):\n    return mini_batch['name'][1:]\n"
    deployment = rehearsed.written(tmp_path, text, mini_batch_size=5)
    stage = replace(rehearsed.stage(tmp_path / "stage"), environment=environment)
    done = rehearse(deployment, inputs, KillSchedule(kills=0), stage)
    assert [(one.rule.code, one.message) for one in done.evidence] == [
        ("MLC610", "`run` returns 4 elements for a mini-batch of 5 rows"),
        ("MLC608", "the inputs have other rows if they are grouped into other mini-batches"),
    ]


def test_rows_of_a_group_may_become_one_and_their_keys_are_told(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    inputs = brought(table(tmp_path / "t"), environment, "key")
    text = (
        "def run(rows, context):\n"
        "    return [f\"{context.partition_key_value['key']} {len(rows['name'])}\"]\n"
    )
    deployment = rehearsed.written(tmp_path, text, error_threshold=0)
    stage = replace(rehearsed.stage(tmp_path / "stage"), environment=environment)
    done = rehearse(deployment, inputs, KillSchedule(kills=1), stage)
    assert rehearsed.shown(done) == []
    assert sorted(done.first.all_rows()) == ["0 6", "1 4"]


def test_columns_are_kept_and_dropped_as_the_mltable_says(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    kept = tables.find(table(tmp_path / "k", "  - keep_columns: [name]\n"))
    dropped = tables.find(table(tmp_path / "d", "  - drop_columns: key\n"))
    assert (kept.keep, kept.drop, kept.options["sep"]) == (("name",), (), ";")
    assert (dropped.keep, dropped.drop) == ((), ("key",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("  - take: 3\n", "`t/MLTable`: `take` is not supported in a rehearsal"),
        ("  - filter: 'x > 3'\n", "`t/MLTable`: `filter` is not supported in a rehearsal"),
    ],
)
def test_what_would_make_other_rows_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=says):
        tables.find(table(tmp_path / "t", text))


def test_an_mltable_without_files_or_without_a_reader_is_refused(tmp_path: Path) -> None:
    (tmp_path / "MLTable").write_text("paths: [{file: ./gone.csv}]\n")
    with pytest.raises(RehearsalError, match="names no local files"):
        tables.find(tmp_path)
    (tmp_path / "gone.csv").write_text("a\n1\n")
    with pytest.raises(RehearsalError, match="does not say how its files are read"):
        tables.find(tmp_path)
    (tmp_path / "MLTable").write_text("[")
    with pytest.raises(RehearsalError, match="names no paths"):
        tables.find(tmp_path)


def test_files_of_one_kind_have_rows_and_others_have_none(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n')
    assert tables.find(tmp_path).format == "json_lines"
    (tmp_path / "b.txt").write_text("x")
    with pytest.raises(RehearsalError, match="has no rows"):
        tables.find(tmp_path)


def test_a_python_without_pandas_is_told(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise ModuleNotFoundError(\"No module named 'pandas'\")")
    nowhere = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}
    with pytest.raises(
        RehearsalError, match=r"rows need pandas: .* use --python with one that has it"
    ):
        brought(table(tmp_path / "t"), nowhere)


def test_a_table_that_cannot_be_read_is_told(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = table(tmp_path / "t", "  - keep_columns: [nothing]\n")
    with pytest.raises(RehearsalError, match=r"`a.csv` cannot be read: KeyError"):
        brought(folder, environment)


def test_pandas_itself_reads_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="needs pandas")
    inputs = brought(table(tmp_path / "t"), dict(os.environ), "key")
    assert (len(inputs.names), len(inputs.groups)) == (10, 2)

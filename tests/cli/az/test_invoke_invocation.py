"""What an invocation says: files, flags and `--set` to a batch job, and how much there is to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mlctl.cli.az import invoke
from mlctl.cli.az.invoke import BatchJobArgs
from mlctl.cli.parser.arguments import TypedFlag, UsageError
from mlctl.cli.parser.tree import Option
from mlctl.service_errors import Permanent, ServiceError
from mlctl.simulator.control_plane.jobs.workloads import DEFAULT_WORKLOAD, check
from mlctl.workload import Workload


def several(*words: str) -> list[TypedFlag]:
    """A flag of several values."""
    return [TypedFlag(Option(("--x",)), words, 1)]


def body(**args: Any) -> Mapping[str, Any]:
    """ARM's body of a batch job."""
    return invoke.body(invoke.document(BatchJobArgs(**args)))


def written(folder: Path, text: str) -> Path:
    """A file of a batch job."""
    file = folder / "job.yml"
    file.write_text(text)
    return file


def test_flags_become_arms_properties() -> None:
    said = body(
        job_name="j", experiment_name="e", mini_batch_size=5, instance_count=3, output_path="o"
    )
    assert (said["name"], said["properties"]) == ("j", {"experimentName": "e"})
    assert (said["miniBatchSize"], said["compute"]) == (5, {"instanceCount": 3})
    assert said["outputData"]["score"] == {"jobOutputType": "UriFolder", "uri": "o"}


def test_set_goes_over_flags_and_flags_go_over_the_file(tmp_path: Path) -> None:
    file = written(
        tmp_path, "mini_batch_size: 1\nerror_threshold: 7\nretry_settings: {timeout: 9}\n"
    )
    said = body(file=file, mini_batch_size=2, set_=several("retry_settings.timeout=90"))
    assert (said["miniBatchSize"], said["errorThreshold"]) == (2, 7)
    assert said["retrySettings"] == {"timeout": "PT1M30S"}


def test_an_input_has_the_key_of_its_type(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1")
    assert list(body(input="https://h/f")["inputData"]) == ["UriFolder"]
    assert list(body(input=str(tmp_path / "a.csv"))["inputData"]) == ["UriFile"]
    assert list(body(input="https://h/f", input_type="uri_file")["inputData"]) == ["UriFile"]


def test_tags_of_flags_go_over_those_of_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, "tags: {team: ds, run: one}\n")
    said = body(file=file, tags=several("run=two", "a.b=c=d"))
    assert said["tags"] == {"team": "ds", "run": "two", "a.b": "c=d"}
    assert body(set_=several("tags.night=3", "tags.full=true"))["tags"] == {
        "night": "3",
        "full": "true",
    }


def test_inputs_are_pairs_or_json_and_may_be_values() -> None:
    said = body(inputs=several("a=https://h/a", '{"b": {"type": "uri_file", "path": "p"}, "c": 3}'))
    assert said["inputData"] == {
        "a": {"jobInputType": "UriFolder", "uri": "https://h/a"},
        "b": {"jobInputType": "UriFile", "uri": "p"},
        "c": {"jobInputType": "Literal", "value": "3"},
    }


@pytest.mark.parametrize(
    "args",
    [
        {"inputs": several("nothing")},
        {"tags": several("nothing")},
        {"set_": several("tags=nothing")},
        {"inputs": several("{1, 2")},
        {"input_type": "uri_file"},
    ],
)
def test_what_is_no_input_is_a_usage_error(args: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        invoke.document(BatchJobArgs(**args))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mini_batch_sise: 3", "did you mean `mini_batch_size`?"),
        ("mini_batch_size: many", "integer"),
        ("retry_settings: {timeout: soon}", "integer"),
        ("a: [", "job.yml"),
        ("inputs: [1]", "object"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Permanent, match=re.escape(says)):
        invoke.document(BatchJobArgs(file=written(tmp_path, text)))


def test_files_are_counted_in_folders_and_not_beyond(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("in/a", "in/deep/b", "in/deep/c"):
        (tmp_path / name).write_text("x")
    here = str(tmp_path / "in")
    assert invoke.count_files(invoke.document(BatchJobArgs(input=here))) == 3
    both = BatchJobArgs(inputs=several(f"a={here}", f"b={here}/a"))
    assert invoke.count_files(invoke.document(both)) == 4
    assert invoke.count_files(invoke.document(BatchJobArgs(input="azureml://d/x"))) is None
    assert invoke.count_files(invoke.document(BatchJobArgs())) is None


def test_one_word_about_the_time_of_a_mini_batch_says_all_about_it() -> None:
    given = Workload(seconds_per_mini_batch=3.0).over(DEFAULT_WORKLOAD)
    assert (given.seconds_per_file, given.seconds_per_mini_batch, given.files) == (None, 3.0, 100)
    assert (
        Workload(cv=0.5).over(DEFAULT_WORKLOAD).seconds_per_file
        == DEFAULT_WORKLOAD.seconds_per_file
    )


@pytest.mark.parametrize(
    "load",
    [
        Workload(files=-1),
        Workload(cv=float("nan")),
        Workload(seconds_per_step=float("inf")),
        Workload(times=(1.0, -1.0)),
        Workload(fail_probability=1.1),
    ],
)
def test_a_figure_that_makes_no_sense_is_refused(load: Workload) -> None:
    with pytest.raises(ServiceError):
        check(load)

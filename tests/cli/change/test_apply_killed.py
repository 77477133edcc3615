"""What a killed apply has taken away is put back: from the shell, by processes that die."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from mlctl.kinds.field import Form
from mlctl.pointer import Pointer
from tests.builders import forked
from tests.builders.shell import Run, cluster, edit

SHOW = ("batch-endpoint", "show", "-n", "scoring", "--query", "defaults.deployment_name")
BLUE = ("batch-deployment", "show", "-n", "blue", "-e", "scoring", "--query", "description")
URL = "https://azuremlschemas.azureedge.net/latest"


@pytest.fixture
def scoring(mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An endpoint whose default no file says, and a deployment that an edit replaces.

    The service writes new code over the old; here it replaces, so that there is much to put back.
    """
    monkeypatch.setattr(Form, "overwritten", property(lambda _form: frozenset[Pointer]()))
    folder = tmp_path / "infra"
    cluster(folder / "cpu.yml")
    (folder / "src").mkdir()
    for name in ("score", "other"):
        (folder / "src" / f"{name}.py").write_text(
            "def init(): ...\ndef run(batch): return batch\n"
        )
    (folder / "endpoint.yml").write_text(
        f"$schema: {URL}/batchEndpoint.schema.json\nname: scoring\n"
    )
    (folder / "blue.yml").write_text(
        f"$schema: {URL}/modelBatchDeployment.schema.json\nname: blue\nendpoint_name: scoring\n"
        "type: model\nmodel: {path: 'azureml://jobs/train/outputs/model/', type: custom_model}\n"
        "compute: azureml:cpu\nenvironment: {image: 'ubuntu:22.04'}\n"
        "code_configuration: {code: ./src, scoring_script: score.py}\n"
    )
    assert mlctl("apply", "infra", "--yes").code == 0
    mlctl("batch-deployment", "update", "-n", "blue", "-e", "scoring", "--set", "description=old")
    mlctl("batch-endpoint", "update", "-n", "scoring", "--set", "defaults.deployment_name=blue")
    edit(folder / "blue.yml", "score.py", "other.py")
    return folder


def killed(folder: Path, nth: int, when: str, *arguments: str) -> None:
    """Run mlctl in a process of its own, which is killed at its nth write."""
    done = forked.Shell(folder)(*arguments, kill=forked.Kill(nth, late=when == "late"))
    assert done.code == -signal.SIGKILL, done.err


def journals(folder: Path) -> list[Path]:
    return sorted((folder / ".mlctl" / "journal").glob("*.json"))


def there(mlctl: Run) -> tuple[Any, Any]:
    """The default deployment, and what somebody has written of the deployment."""
    return mlctl(*SHOW).json, mlctl(*BLUE).json


@pytest.mark.parametrize(("nth", "when"), [(1, "late"), (2, "late"), (3, "late"), (4, "late")])
def test_after_a_kill_the_next_apply_puts_back_what_no_file_says(
    mlctl: Run, scoring: Path, nth: int, when: str
) -> None:
    killed(scoring.parent, nth, when, "apply", "infra", "--yes")
    (journal,) = journals(scoring.parent)
    assert str(scoring) in json.loads(journal.read_text())["paths"]
    assert mlctl("apply", "infra", "--yes").code == 0
    assert there(mlctl) == ("blue", "old")
    assert journals(scoring.parent) == []
    assert mlctl("plan", "infra", "--detailed-exitcode").code == 0


def test_the_plan_after_a_kill_shows_what_is_put_back(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 3, "late", "apply", "infra", "--yes")
    mlctl("batch-endpoint", "wait", "-n", "scoring", "--updated")
    planned = mlctl("plan", "infra")
    assert "deployment_name: blue # from an unfinished apply" in planned.out
    assert "(restores the default deployment that the unfinished apply of 20" in planned.out
    changes = mlctl("plan", "infra", "-o", "json").json["resource_changes"]
    (journal,) = journals(scoring.parent)
    told = [one["owed"]["journal"] for one in changes if one["owed"]]
    assert told == [str(journal.relative_to(scoring.parent))] * len(told) != []
    assert (
        "restoring what an unfinished apply removed" in mlctl("plan", "infra", "-o", "markdown").out
    )


def test_an_ordinary_apply_writes_no_journal(mlctl: Run, scoring: Path) -> None:
    assert mlctl("apply", "infra", "--yes").code == 0
    assert journals(scoring.parent) == []
    edit(scoring / "cpu.yml", "max_instances: 2", "max_instances: 3")
    (scoring.parent / ".mlctl" / "journal" / ".gitignore").unlink()
    (scoring.parent / ".mlctl" / "journal").rmdir()
    assert mlctl("apply", "infra", "--yes").code == 0
    assert not (scoring.parent / ".mlctl" / "journal").exists()


@pytest.mark.parametrize(("nth", "when"), [(1, "early"), (1, "late"), (2, "late"), (3, "late")])
def test_a_successor_takes_over_what_no_file_says_though_blue_green_was_killed(
    mlctl: Run, scoring: Path, nth: int, when: str
) -> None:
    edit(scoring / "cpu.yml", "D4ds", "D8ds")
    mlctl("compute", "update", "-n", "cpu", "--set", "tags.team=ds")
    given = ("--yes", "--parallelism", "1", "--replace-strategy", "blue-green")
    killed(scoring.parent, nth, when, "apply", "infra", *given)
    assert len(journals(scoring.parent)) == 1
    resumed = mlctl("apply", "--resume", "--yes")
    assert resumed.code == 0, resumed.err
    blue = ("batch-deployment", "show", "-n", "blue-2", "-e", "scoring", "--query", "description")
    cpu = ("compute", "show", "-n", "cpu-v2", "--query", "tags.team")
    assert [mlctl(*one).json for one in (SHOW, blue, cpu)] == ["blue-2", "old", "ds"]
    assert journals(scoring.parent) == []
    assert mlctl("plan", "infra", "--detailed-exitcode").code == 0


def test_what_was_deleted_since_is_not_owed_any_more(mlctl: Run, scoring: Path) -> None:
    edit(scoring / "cpu.yml", "D4ds", "D8ds")
    given = ("--yes", "--replace-strategy", "blue-green")
    killed(scoring.parent, 1, "late", "apply", "infra", "--parallelism", "1", *given)
    assert len(journals(scoring.parent)) == 1
    edit(scoring / "cpu.yml", "D8ds", "D16ds")
    done = mlctl("apply", "infra", *given)
    assert "compute/cpu-v2: Destruction complete" in done.err
    assert (done.code, journals(scoring.parent)) == (0, [])
    assert there(mlctl)[0] == "blue-2"


def test_what_is_being_made_is_not_said_to_be_lost(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 3, "late", "apply", "infra", "--yes")
    planned = mlctl("plan", "infra")
    assert "batch-deployment/scoring/blue was not compared: it is creating" in planned.out
    assert "did not create it again" not in planned.err


def test_a_successor_that_nobody_wants_any_more_is_told_until_its_journal_is_deleted(
    mlctl: Run, scoring: Path
) -> None:
    before = (scoring / "blue.yml").read_text()
    given = ("--yes", "--parallelism", "1", "--replace-strategy", "blue-green")
    killed(scoring.parent, 1, "early", "apply", "infra", *given)
    (scoring / "blue.yml").write_text(before)
    told = mlctl("plan", "infra").err
    assert "did not create batch-deployment/scoring/blue-2, and this plan does not either" in told
    assert "did not move the default deployment of batch-endpoint/scoring to blue-2" in told
    (journal,) = journals(scoring.parent)
    journal.unlink()
    assert "unfinished" not in mlctl("plan", "infra").err


def test_a_failure_leaves_a_journal_too_and_says_so(mlctl: Run, scoring: Path) -> None:
    fault = ("local", "fault", "add", "fail", "--operation", "put", "--status", "400")
    mlctl(*fault, "--target", "batch-deployment/*")
    done = mlctl("apply", "infra", "--yes")
    assert done.code == 7
    (journal,) = journals(scoring.parent)
    assert f"It is kept in `{journal.relative_to(scoring.parent)}`" in done.err
    mlctl("local", "fault", "clear")
    assert mlctl("apply", "infra", "--yes").code == 0
    assert there(mlctl) == ("blue", "old")


def test_a_command_of_az_that_makes_it_anew_puts_it_back_too(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 3, "late", "apply", "infra", "--yes")
    created = ("batch-deployment", "create", "-f", "infra/blue.yml", "-e", "scoring", "--replace")
    assert mlctl(*created).code == 0
    assert there(mlctl) == ("blue", "old")
    assert journals(scoring.parent) == []


def test_resume_puts_back_what_is_owed_and_nothing_else(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 2, "late", "apply", "infra", "--yes")
    edit(scoring / "cpu.yml", "max_instances: 2", "max_instances: 3")
    cluster(scoring / "other.yml")
    done = mlctl("apply", "--resume", "--yes")
    assert (done.code, there(mlctl)) == (0, ("blue", "old"))
    assert "(infra/blue.yml:" in done.out
    assert journals(scoring.parent) == []
    assert mlctl("compute", "list", "--query", "[].name").json == ["cpu"]


def test_resume_puts_back_a_default_though_no_file_is_known(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 1, "late", "apply", "infra", "--yes")
    (journal,) = journals(scoring.parent)
    document = json.loads(journal.read_text())
    journal.write_text(json.dumps({**document, "paths": []}))
    done = mlctl("apply", "--resume", "--yes")
    assert (done.code, "0 added, 1 changed, 0 destroyed." in done.out) == (0, True)
    assert (there(mlctl), journals(scoring.parent)) == (("blue", "old"), [])


def test_resume_asks_like_any_apply(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 3, "late", "apply", "infra", "--yes")
    assert mlctl("apply", "--resume").code == 1
    assert len(journals(scoring.parent)) == 1


@pytest.mark.parametrize("flags", [[], ["--plan-only"]], ids=str)
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_of_a_saved_plan_resume_carries_out_the_rest(
    mlctl: Run, scoring: Path, nth: int, flags: list[str]
) -> None:
    cluster(scoring / "other.yml")
    assert mlctl("plan", "infra", "--out", "plan.json").code == 0
    if flags:
        edit(scoring / "cpu.yml", "max_instances: 2", "max_instances: 3")
    killed(scoring.parent, nth, "late", "apply", "plan.json", *flags)
    resumed = mlctl("apply", "--resume", *flags)
    assert resumed.code == 0, resumed.err
    assert (there(mlctl), journals(scoring.parent)) == (("blue", "old"), [])
    assert mlctl("compute", "list", "--query", "[].name").json == ["cpu", "other"]
    query = ("compute", "show", "-n", "cpu", "--query", "max_instances")
    assert mlctl(*query).json == 2


def test_a_saved_plan_says_itself_what_it_puts_back(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 2, "late", "apply", "infra", "--yes")
    mlctl("batch-endpoint", "wait", "-n", "scoring", "--updated")
    assert mlctl("plan", "infra", "--out", "plan.json").code == 0
    (journal,) = journals(scoring.parent)
    journal.unlink()  # as in the folder of another job of a pipeline
    assert "does not match the files" in mlctl("apply", "plan.json").err
    assert mlctl("apply", "plan.json", "--plan-only").code == 0
    assert there(mlctl) == ("blue", "old")


def test_without_anything_owed_there_is_nothing_to_resume(mlctl: Run, scoring: Path) -> None:
    done = mlctl("apply", "--resume")
    assert (done.code, done.out) == (0, "")
    assert "Nothing to resume: no apply to local/local has left anything behind" in done.err
    assert "`.mlctl/journal`" in done.err
    assert there(mlctl) == ("blue", "old")


def test_resume_of_files_that_are_gone_says_so(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 3, "late", "apply", "infra", "--yes")
    scoring.rename(scoring.with_name("moved"))
    done = mlctl("apply", "--resume", "--yes")
    assert (done.code, "no longer exists: name the files" in done.err) == (1, True)
    assert mlctl("apply", "--resume", "moved", "--yes").code == 0
    assert (there(mlctl), journals(scoring.parent)) == (("blue", "old"), [])


@pytest.mark.parametrize(
    "flags", [("--target", "compute/cpu"), ("--prune",), ("--replace-strategy", "blue-green")]
)
def test_resume_takes_no_flags_that_plan_more_or_less(mlctl: Run, flags: tuple[str, ...]) -> None:
    done = mlctl("apply", "--resume", *flags)
    assert (done.code, f"takes no {flags[0]}" in done.err) == (1, True)


def test_apply_without_a_path_needs_one(mlctl: Run) -> None:
    done = mlctl("apply", "--yes")
    assert (done.code, "PATH" in done.err) == (1, True)


def test_the_journal_is_beside_the_mlctl_yml_wherever_apply_is_run(
    mlctl: Run, scoring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scoring / "mlctl.yml").write_text("{}\n")
    killed(scoring.parent, 3, "late", "apply", "infra", "--yes")
    assert (len(journals(scoring)), journals(scoring.parent)) == (1, [])
    monkeypatch.setenv("MLCTL_LOCAL_DB", str(scoring.parent / ".mlctl" / "local.db"))
    monkeypatch.chdir(scoring)
    assert mlctl("apply", "--resume", "--yes").code == 0
    assert (there(mlctl), journals(scoring)) == (("blue", "old"), [])


def test_resume_finds_the_journal_of_a_project_below_the_current_folder(
    mlctl: Run, scoring: Path
) -> None:
    (scoring / "mlctl.yml").write_text("{}\n")
    killed(scoring.parent, 3, "late", "apply", "infra", "--yes")
    assert mlctl("apply", "--resume", "--yes").code == 0
    assert (there(mlctl), journals(scoring)) == (("blue", "old"), [])


def test_what_is_being_made_anew_is_not_said_to_be_left_deleted(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 3, "late", "apply", "infra", "--yes")
    told = mlctl("plan", "infra").err
    assert "did not create it again" not in told


def test_what_is_destroyed_is_not_owed_any_more(mlctl: Run, scoring: Path) -> None:
    killed(scoring.parent, 3, "late", "apply", "infra", "--yes")
    assert mlctl("destroy", "infra", "--yes").code == 0
    assert journals(scoring.parent) == []


def test_a_journal_that_cannot_be_written_stops_an_apply_that_would_need_it(
    mlctl: Run, scoring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLCTL_JOURNAL_DIR", str(scoring / "cpu.yml" / "journal"))
    done = mlctl("apply", "infra", "--yes")
    assert (done.code, "cannot write" in done.err) == (1, True)
    assert there(mlctl) == ("blue", "old")
    edit(scoring / "blue.yml", "other.py", "score.py")
    edit(scoring / "cpu.yml", "max_instances: 2", "max_instances: 3")
    assert mlctl("apply", "infra", "--yes").code == 0


@pytest.mark.parametrize("verb", ["plan", "apply"])
def test_a_damaged_journal_is_told_with_what_to_do(mlctl: Run, scoring: Path, verb: str) -> None:
    folder = scoring.parent / ".mlctl" / "journal"
    folder.mkdir()
    (folder / "1.json").write_text("{")
    done = mlctl(verb, "infra")
    assert (done.code, done.err.count("is damaged: repair it, or delete it")) == (1, 1)
    assert "Traceback" not in done.err

"""`mlctl drift`, from the shell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster, edit


@pytest.fixture
def changed(mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that `ann` applied, and in which `bob` changed a tag and the scale."""
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    file = cluster(tmp_path / "infra" / "cpu.yml")
    file.write_text(file.read_text() + "tags: {team: ours}\n")
    monkeypatch.setenv("USER", "ann")
    assert mlctl("apply", "infra", "--yes").code == 0
    monkeypatch.setenv("USER", "bob")
    update = ("compute", "update", "-n", "cpu", "--max-instances", "7")
    assert mlctl(*update, "--set", "tags.team=theirs").code == 0
    return tmp_path


def test_drift_says_what_differs_who_wrote_last_and_when(mlctl: Run, changed: Path) -> None:
    done = mlctl("drift", "infra")
    assert done.code == 0
    assert "  ~ max_instances: 2 in the file, 7 in the workspace" in done.out
    assert "# tags.team: changed outside: the file is unchanged since it was applied" in done.out
    assert "# last write: written 2026-01-01T00:01:00.000Z by bob" in done.out
    assert done.out.endswith("Drift: 1 resource differs.\n")


def test_the_exit_code_tells_drift_only_when_asked(mlctl: Run, changed: Path) -> None:
    assert mlctl("drift", "infra", "--detailed-exitcode").code == 2
    assert mlctl("apply", "infra", "--yes").code == 0
    done = mlctl("drift", "infra", "--detailed-exitcode")
    assert (done.code, done.out) == (0, "No drift. Your workspace matches the files.\n")


def test_drift_of_the_other_files_is_shown_where_it_keeps_going(mlctl: Run, changed: Path) -> None:
    (changed / "infra" / "broken.yml").write_text("$schema: amlCompute.schema.json\nname: <N>\n")
    assert mlctl("drift", "infra").out == ""
    done = mlctl("drift", "infra", "--keep-going", "--detailed-exitcode")
    assert (done.code, done.out.endswith("Drift: 1 resource differs.\n")) == (1, True)
    assert "left out: `infra/broken.yml`" in done.err


def test_what_was_deleted_is_missing(mlctl: Run, changed: Path) -> None:
    mlctl("compute", "delete", "-n", "cpu", "--yes")
    done = mlctl("drift", "infra", "--detailed-exitcode")
    assert done.code == 2
    assert "it is declared, but not in the workspace" in done.out
    assert "# last write: deleted" in done.out


def test_drift_for_an_issue_and_for_a_program(mlctl: Run, changed: Path) -> None:
    table = mlctl("drift", "infra", "-o", "markdown").out
    assert table.startswith("### mlctl drift: 1 resource differs\n")
    assert "| `compute/cpu` | `max_instances` | 2 | 7 | written 2026" in table
    (one,) = mlctl("drift", "infra", "-o", "json").json["drift"]
    assert one["source"] == {"filename": "infra/cpu.yml", "line": 5}
    assert one["last_write"]["by"] == "bob"
    origins = {".".join(each["path"]): each["origin"] for each in one["fields"]}
    assert origins == {"max_instances": "unknown", "tags.team": "outside"}


def test_files_with_errors_have_no_drift_to_show(mlctl: Run, changed: Path) -> None:
    (changed / "infra" / "bad.yml").write_text("a: [\n")
    done = mlctl("drift", "infra", "--detailed-exitcode")
    assert (done.code, done.out) == (1, "")


def test_secrets_are_not_shown(mlctl: Run, sample: Path) -> None:
    mlctl("apply", "sample", "--yes")
    secret = "\nsettings:\n  environment_variables: {API_TOKEN: hunter2-hunter2}\n"
    edit(sample / "deployment.yml", "\nsettings:\n", secret)
    for form in ("human", "markdown", "json"):
        done = mlctl("drift", "sample", "-o", form)
        assert "API_TOKEN" in done.out
        assert "hunter2" not in done.out + done.err


def test_drift_is_told_of_what_the_project_would_not_let_a_plan_change(
    mlctl: Run, changed: Path
) -> None:
    rule = "policies: [{name: frozen, rule: change.action != 'update'}]\n"
    (changed / "frozen.yml").write_text(rule)
    (changed / "mlctl.yml").write_text("project: scoring\npolicies: [frozen.yml]\n")
    assert mlctl("plan", "infra").code == 5
    assert mlctl("drift", "infra", "--detailed-exitcode").code == 2


def test_what_no_file_declares_any_more_is_told_and_no_state_as_declared(
    mlctl: Run, changed: Path
) -> None:
    cluster(changed / "infra" / "old.yml")
    assert mlctl("apply", "infra", "--yes").code == 0
    (changed / "infra" / "old.yml").unlink()
    said = "compute/old is no longer declared; `--prune` deletes it."
    planned, drifted = mlctl("plan", "infra"), mlctl("drift", "infra", "--detailed-exitcode")
    assert planned.out == f"No changes to what the files declare.\n\n{said}\n"
    assert (drifted.code, drifted.out) == (2, f"{said}\n")
    assert f"- {said}" in mlctl("plan", "infra", "-o", "markdown").out
    assert said in mlctl("drift", "infra", "-o", "markdown").out
    for command in ("plan", "drift"):
        assert mlctl(command, "infra", "-o", "json").json["orphans"] == ["compute/old"]


def test_what_another_file_of_the_project_declares_is_no_orphan(mlctl: Run, changed: Path) -> None:
    cluster(changed / "more" / "other.yml")
    assert mlctl("apply", ".", "--yes").code == 0
    assert "no longer declared" not in mlctl("plan", "infra").out
    assert mlctl("plan", "infra", "-o", "json").json["orphans"] == []


def test_an_issue_mentions_nobody_and_shows_no_image(mlctl: Run, tmp_path: Path) -> None:
    file = cluster(tmp_path / "cpu.yml")
    file.write_text(file.read_text() + "tags: {t: ours}\n")
    assert mlctl("apply", "cpu.yml", "--yes").code == 0
    wild = "@octocat ![x](https://evil.example/x.png) <!-- mlctl drift -->"
    assert mlctl("compute", "update", "-n", "cpu", "--set", f"tags.t={wild}").code == 0
    text = mlctl("drift", str(file), "-o", "markdown").out
    (row,) = [line for line in text.splitlines() if "octocat" in line]
    assert not set(re.sub("`[^`]*`", "", row)) & set("@![<")
    assert "`![x](https://evil.example/x.png)` `<!--` mlctl drift" in row

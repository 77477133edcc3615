"""Projects from the shell: what `mlctl.yml` says of whose things are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import Run, cluster, edit


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a project and a cluster `cpu`, which declares a tag."""
    (tmp_path / "mlctl.yml").write_text("project: scoring\n")
    (tmp_path / "infra").mkdir()
    file = cluster(tmp_path / "infra" / "cpu.yml")
    file.write_text(file.read_text() + "tags: {team: ds}\n")
    return tmp_path


def tags(mlctl: Run, name: str = "cpu") -> dict[str, str]:
    """The tags of a cluster."""
    found: dict[str, str] = mlctl("compute", "show", "-n", name).json.get("tags", {})
    return found


def test_a_project_tags_what_it_makes_once(mlctl: Run, project: Path) -> None:
    assert "mlctl.project:   scoring" in mlctl("apply", "infra", "--yes").out
    assert tags(mlctl).keys() == {"team", "mlctl.project", "mlctl.spec-hash"}
    assert mlctl("plan", "infra", "--detailed-exitcode").code == 0


@pytest.mark.parametrize(("text", "flags"), [("", ["--no-tags"]), ("tags: false\n", [])])
def test_where_tags_are_forbidden_none_are_made(
    mlctl: Run, project: Path, text: str, flags: list[str]
) -> None:
    edit(project / "mlctl.yml", "scoring\n", f"scoring\n{text}")
    assert mlctl("apply", "infra", "--yes", *flags).code == 0
    assert tags(mlctl) == {"team": "ds"}


def test_a_saved_plan_holds_the_tags(mlctl: Run, project: Path) -> None:
    mlctl("plan", "infra", "--out", "plan.json")
    assert mlctl("apply", "plan.json").code == 0
    assert tags(mlctl)["mlctl.project"] == "scoring"


def test_commands_of_az_neither_tag_nor_remove_the_tags(mlctl: Run, project: Path) -> None:
    mlctl("compute", "create", "-n", "other", "--type", "amlcompute", "--size", "Standard_DS3_v2")
    assert tags(mlctl, "other") == {}
    mlctl("apply", "infra", "--yes")
    edit(project / "infra" / "cpu.yml", "team: ds", "team: ml")
    assert mlctl("compute", "create", "-f", "infra/cpu.yml").code == 0
    assert tags(mlctl).keys() == {"team", "mlctl.project", "mlctl.spec-hash"}
    remove = ("compute", "update", "-n", "cpu", "--remove", 'tags."mlctl.project"')
    assert mlctl(*remove).code == 0
    assert tags(mlctl).keys() == {"team", "mlctl.spec-hash"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("project: my project\n", "error[MLC1"),
        ("project: s\nprotect: [computes/*]\n", "did you mean `compute/*`?"),
        ("project: s\nprotect: [gpu]\n", "`gpu` is neither an address nor a pattern of one"),
        ("project: s\ntags: maybe\n", "error[MLC103]"),
    ],
)
def test_a_project_that_makes_no_sense_is_an_error_at_its_place(
    mlctl: Run, project: Path, text: str, said: str
) -> None:
    (project / "mlctl.yml").write_text(text)
    done = mlctl("plan", "infra")
    assert done.code == 1
    assert said in done.err
    assert "mlctl.yml:" in done.err


@pytest.fixture
def shrunk(mlctl: Run, project: Path) -> Path:
    """The project, of which two of three clusters are not declared any more."""
    for name in ("old-a", "old-b"):
        cluster(project / "infra" / f"{name}.yml")
    assert mlctl("apply", "infra", "--yes").code == 0
    for name in ("old-a", "old-b"):
        (project / "infra" / f"{name}.yml").unlink()
    return project


def clusters(mlctl: Run) -> set[str]:
    """The names of the clusters that there are."""
    return {one["name"] for one in mlctl("compute", "list").json}


def test_without_prune_nothing_that_is_not_declared_goes(mlctl: Run, shrunk: Path) -> None:
    assert mlctl("plan", "infra", "--detailed-exitcode").code == 0


def test_a_pipeline_says_how_many_may_be_pruned(mlctl: Run, shrunk: Path) -> None:
    boundless = mlctl("apply", "infra", "--prune", "--yes")
    assert (boundless.code, "--prune-limit 2" in boundless.err) == (5, True)
    low = mlctl("apply", "infra", "--prune", "--yes", "--prune-limit", "1")
    assert low.code == 5
    assert "2 resources would be pruned, but `--prune-limit` allows 1" in low.out
    assert mlctl("plan", "infra", "--prune", "--prune-limit", "1").code == 5
    assert clusters(mlctl) == {"cpu", "old-a", "old-b"}
    assert mlctl("apply", "infra", "--prune", "--yes", "--prune-limit", "2").code == 0
    assert clusters(mlctl) == {"cpu"}


@pytest.mark.parametrize(("typed", "code"), [("2", 0), ("yes", 8), ("3", 8), ("", 8)])
def test_on_a_terminal_the_number_is_the_approval(
    mlctl: Run, shrunk: Path, typed: str, code: int
) -> None:
    done = mlctl("apply", "infra", "--prune", typed=f"{typed}\n")
    assert done.code == code
    assert "They delete 2 resources that no file declares any more." in done.err
    assert len(clusters(mlctl)) == (1 if code == 0 else 3)


def test_a_saved_plan_and_a_comment_say_what_is_pruned(mlctl: Run, shrunk: Path) -> None:
    comment = mlctl("plan", "infra", "--prune", "-o", "markdown").out
    assert "| `-` | `compute/old-a` | **destroy**: no file declares it any more |  |" in comment
    made = mlctl("plan", "infra", "--prune", "-o", "json", "--out", "plan.json").json
    reasons = {one["address"]: one["action_reason"] for one in made["resource_changes"]}
    assert reasons["compute/old-a"] == "delete_because_not_declared"
    assert mlctl("apply", "plan.json").code == 0
    assert clusters(mlctl) == {"cpu"}


def test_a_saved_plan_over_the_limit_is_refused(mlctl: Run, shrunk: Path) -> None:
    mlctl("plan", "infra", "--prune", "--prune-limit", "0", "--out", "plan.json")
    done = mlctl("apply", "plan.json")
    assert (done.code, "MLC413" in done.err) == (5, True)


def test_files_that_were_not_passed_keep_what_they_declare(mlctl: Run, shrunk: Path) -> None:
    cluster(shrunk / "more" / "old-a.yml")
    made = mlctl("plan", "infra", "--prune", "-o", "json").json
    gone = {
        one["address"] for one in made["resource_changes"] if "delete" in one["change"]["actions"]
    }
    assert gone == {"compute/old-b"}
    (shrunk / "more" / "broken.yml").write_text("a: [\n")
    done = mlctl("plan", "infra", "--prune")
    assert done.code == 1
    assert "cannot be read, but may declare what would be pruned" in done.err


@pytest.mark.parametrize(
    ("text", "flags", "said"),
    [
        ("ignore: []\n", ["--prune"], "set `project: NAME` in mlctl.yml"),
        ("project: s\n", ["--prune", "--no-tags"], "without tags"),
        ("project: s\ntags: false\n", ["--prune"], "without tags"),
        ("project: s\n", ["--prune", "--target", "compute/cpu"], "prune with all"),
        ("project: s\n", ["--prune-limit", "3"], "--prune-limit needs --prune"),
    ],
)
def test_prune_is_refused_where_there_is_nothing_to_go_by(
    mlctl: Run, project: Path, text: str, flags: list[str], said: str
) -> None:
    (project / "mlctl.yml").write_text(text)
    done = mlctl("plan", "infra", *flags)
    assert (done.code, said in done.err) == (1, True), done.err


@pytest.mark.parametrize("by", ["pattern", "file", "workspace"])
def test_what_is_protected_is_neither_deleted_nor_replaced(
    mlctl: Run, project: Path, by: str
) -> None:
    file = project / "infra" / "cpu.yml"
    if by == "file":
        edit(file, "team: ds", 'mlctl.protect: "true"')
    mlctl("apply", "infra", "--yes")
    if by == "workspace":
        mlctl("compute", "update", "-n", "cpu", "--set", 'tags."mlctl.protect"=true')
    if by == "pattern":
        edit(project / "mlctl.yml", "scoring\n", "scoring\nprotect: [compute/*]\n")
    place = {"pattern": "mlctl.yml:2:11", "file": "infra/cpu.yml:6:", "workspace": "infra/cpu.yml:"}
    destroyed = mlctl("destroy", "infra", "--yes")
    assert (destroyed.code, "MLC412" in destroyed.out, place[by] in destroyed.out) == (
        5,
        True,
        True,
    )
    deleted = mlctl("compute", "delete", "-n", "cpu", "--yes")
    assert deleted.code == 5
    assert "compute/cpu would be deleted, but is protected by" in deleted.err
    edit(file, "Standard_D4ds_v5", "Standard_D8ds_v5")
    assert mlctl("apply", "infra", "--yes").code == 5
    assert mlctl("plan", "infra").code == 5
    assert mlctl("compute", "create", "-f", "infra/cpu.yml", "--replace").code == 5
    file.unlink()
    cluster(project / "infra" / "other.yml")
    pruned = mlctl("apply", "infra", "--prune", "--yes", "--prune-limit", "9")
    assert (pruned.code, "compute/cpu would be deleted" in pruned.out) == (5, True)
    assert clusters(mlctl) == {"cpu"}


def test_a_protection_ends_in_a_change_of_its_own(mlctl: Run, project: Path) -> None:
    edit(project / "infra" / "cpu.yml", "team: ds", 'mlctl.protect: "true"')
    mlctl("apply", "infra", "--yes")
    edit(project / "infra" / "cpu.yml", '"true"', '"false"')
    assert mlctl("destroy", "infra", "--yes").code == 5
    assert mlctl("apply", "infra", "--yes").code == 0
    assert mlctl("destroy", "infra", "--yes").code == 0


def test_a_protected_deployment_keeps_its_endpoint(
    mlctl: Run, sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "mlctl.yml").write_text("protect: [batch-deployment/*]\n")
    mlctl("apply", "sample", "--yes")
    done = mlctl("batch-endpoint", "delete", "-n", "heart-classifier-batch", "--yes")
    assert done.code == 5
    assert "classifier-xgboost would be deleted, but is protected" in done.err


@pytest.fixture
def theirs(mlctl: Run, project: Path) -> Path:
    """The cluster, made by another project; `mlctl.yml` names ours."""
    (project / "mlctl.yml").write_text("project: others\n")
    assert mlctl("apply", "infra", "--yes").code == 0
    (project / "mlctl.yml").write_text("project: scoring\n")
    return project / "infra" / "cpu.yml"


@pytest.mark.parametrize(
    "command",
    [
        ("apply", "infra", "--yes"),
        ("plan", "infra"),
        ("plan", "infra", "--destroy"),
        ("destroy", "infra", "--yes"),
        ("compute", "create", "-f", "infra/cpu.yml", "--replace"),
        ("compute", "delete", "-n", "cpu", "--yes"),
    ],
)
def test_what_another_project_owns_is_neither_deleted_nor_replaced(
    mlctl: Run, theirs: Path, command: tuple[str, ...]
) -> None:
    edit(theirs, "size: ", "size: Standard_D8ds_v5  # not ")
    done = mlctl(*command)
    assert done.code == 5
    assert "belongs to the project `others`" in done.out + done.err
    assert "mlctl import PATH --from others" in done.out + done.err
    assert clusters(mlctl) == {"cpu"}


def test_a_saved_plan_that_replaces_what_another_project_owns_is_refused(
    mlctl: Run, theirs: Path
) -> None:
    edit(theirs, "size: ", "size: Standard_D8ds_v5  # not ")
    assert mlctl("plan", "infra", "--out", "plan.json").code == 5
    assert mlctl("apply", "plan.json").code == 5


def test_a_change_of_what_another_project_owns_is_warned_about(mlctl: Run, theirs: Path) -> None:
    assert "MLC416" not in mlctl("plan", "infra").out
    edit(theirs, "team: ds", "team: ml")
    warned = mlctl("plan", "infra")
    assert (warned.code, "warning[MLC416]" in warned.out) == (0, True)
    assert "compute/cpu would be changed, but belongs to the project `others`" in warned.out
    assert "MLC416" in mlctl("plan", "infra", "-o", "markdown").out
    assert "MLC416" in mlctl("compute", "update", "-n", "cpu", "--set", "tags.a=b").err
    assert mlctl("apply", "infra", "--yes").code == 0
    assert tags(mlctl)["mlctl.project"] == "others"


def test_what_was_taken_from_another_project_can_be_replaced(mlctl: Run, theirs: Path) -> None:
    edit(theirs, "size: ", "size: Standard_D8ds_v5  # not ")
    assert mlctl("import", "infra", "--yes", "--from", "others").code == 0
    assert mlctl("apply", "infra", "--yes").code == 0
    assert tags(mlctl)["mlctl.project"] == "scoring"


def test_without_a_project_tags_of_others_forbid_nothing(mlctl: Run, theirs: Path) -> None:
    (theirs.parent.parent / "mlctl.yml").write_text("ignore: []\n")
    assert mlctl("destroy", "infra", "--yes").code == 0

"""A password is shown nowhere: not in snippets, plans, files, lines of progress or errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.shell import CLUSTER, Run, cluster

SECRET = "Hunter2hunter2"
HEAD = CLUSTER.format(name="cpu", size="Standard_D4ds_v5", most=2)
USER = "ssh_settings:\n  admin_username: me\n"
WRONG = {
    "beside a typo": "ssh_settings: {admin_username: me, admin_password: %s, tire: 3}\n",
    "in brackets that do not end": "ssh_settings: {admin_username: me, admin_password: %s\n",
    "in quotes that do not end": 'ssh_settings: {admin_username: me, admin_password: "%s\n',
    "given twice": "ssh_settings: {admin_password: %s, admin_password: x%s}\n",
    "as a block": f"{USER}  admin_password: |\n    %s\n  tire: 3\n",
    "as a list": f"{USER}  admin_password: [%s]\n",
    "as a mapping": f"{USER}  admin_password: {{a: %s}}\n",
    "under a misspelt key": f"{USER}  admin_pasword: %s\n",
    "under a key of another place": "admin_password: %s\n",
    "through an anchor": f"tagz: &x %s\n{USER}  admin_password: *x\n",
    "in escapes": 'ssh_settings: {admin_username: me, admin_password: "\\x48%s", tire: 3}\n',
    "beside a tab": "ssh_settings:\n\tadmin_password: %s\n",
    "twice in the file": f"size: %s\n{USER}  admin_password: %s\n",
}
FORMS = ["human", "json", "sarif", "github", "azure-pipelines"]
RIGHT = f"{HEAD}{USER}  admin_password: {SECRET}\n"


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_a_finding_beside_a_secret_does_not_show_it(mlctl: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "cpu.yml").write_text(HEAD + text.replace("%s", SECRET))
    for form in FORMS:
        done = mlctl("validate", "cpu.yml", "-o", form)
        assert (done.code, SECRET in done.out + done.err) == (1, False)


def test_what_is_hidden_is_as_long_as_it_was(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "cpu.yml").write_text(HEAD + WRONG["beside a typo"] % SECRET)
    shown = mlctl("validate", "cpu.yml", "--select", "MLC101").out
    assert f"admin_password: {'*' * len(SECRET)}, tire: 3}}" in shown


@pytest.mark.parametrize(
    "command",
    [
        ("validate", "cpu.yml"),
        ("plan", "cpu.yml"),
        ("plan", "cpu.yml", "--verbose"),
        ("plan", "cpu.yml", "-o", "json"),
        ("plan", "cpu.yml", "--destroy"),
        ("apply", "cpu.yml", "--yes"),
        ("apply", "cpu.yml", "--yes", "-o", "json"),
        ("apply", "cpu.yml", "--yes", "--debug"),
        ("destroy", "cpu.yml", "--yes"),
        ("compute", "create", "-f", "cpu.yml"),
        ("compute", "create", "-f", "cpu.yml", "-o", "table"),
        ("compute", "show", "-n", "cpu"),
        ("compute", "list"),
    ],
    ids=" ".join,
)
def test_no_command_shows_a_secret(mlctl: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "cpu.yml").write_text(RIGHT)
    for _ in range(2):  # when it is new, and when it is there
        done = mlctl(*command)
        assert SECRET not in done.out + done.err
        mlctl("apply", "cpu.yml", "--yes")


def test_a_failure_does_not_show_a_secret(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "cpu.yml").write_text(RIGHT)
    mlctl("local", "fault", "add", "fail", "--operation", "put", "--status", "400")
    done = mlctl("apply", "cpu.yml", "--yes", "--debug")
    assert (done.code, SECRET in done.out + done.err) == (1, False)


def test_a_saved_plan_holds_no_secret_and_applies_with_it(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "cpu.yml").write_text(RIGHT)
    assert mlctl("plan", "cpu.yml", "--out", "plan.json").code == 0
    assert SECRET not in (tmp_path / "plan.json").read_text()
    assert mlctl("apply", "plan.json").code == 0
    query = ("-n", "cpu", "--query", "ssh_settings.admin_username")
    assert mlctl("compute", "show", *query).json == "me"


def test_a_saved_plan_whose_secret_is_gone_says_so(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "cpu.yml").write_text(RIGHT)
    mlctl("plan", "cpu.yml", "--out", "plan.json")
    cluster(tmp_path / "cpu.yml")
    done = mlctl("apply", "plan.json")
    assert (done.code, "`ssh_settings.admin_password` of compute/cpu" in done.err) == (1, True)


def test_the_local_state_holds_no_secret(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "cpu.yml").write_text(RIGHT)
    mlctl("apply", "cpu.yml", "--yes")
    kept = b"".join(file.read_bytes() for file in (tmp_path / ".mlctl").iterdir())
    assert (SECRET.encode() in kept, b"cpu" in kept) == (False, True)


def test_a_change_of_a_secret_alone_cannot_be_seen(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "cpu.yml").write_text(RIGHT)
    mlctl("apply", "cpu.yml", "--yes")
    (tmp_path / "cpu.yml").write_text(RIGHT.replace(SECRET, SECRET[::-1]))
    assert mlctl("plan", "cpu.yml", "--detailed-exitcode").code == 0

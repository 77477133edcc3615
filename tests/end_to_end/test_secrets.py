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
    "twice in the file": f"size: %s\ntire: 3\n{USER}  admin_password: %s\n",
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
    done = mlctl("apply", "plan.json", "--plan-only")
    assert (done.code, "`ssh_settings.admin_password` of compute/cpu" in done.err) == (1, True)
    held = mlctl("apply", "plan.json")
    assert (held.code, "does not match the files" in held.err) == (1, True)


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


DEPLOYMENT = """\
$schema: https://azuremlschemas.azureedge.net/latest/modelBatchDeployment.schema.json
name: scoring
endpoint_name: scores
type: model
model: azureml:classifier:1
compute: azureml:cpu
environment: azureml:env:1
code_configuration: {code: src, scoring_script: score.py}
settings:
  environment_variables: {%s}
tags: {%s}
"""
HIDDEN = {
    "a variable": ("DB_PASSWORD: Hunter2hunter2", ""),
    "a key": ("STORE_KEY: Hunter2hunter2", ""),
    "a token": ("HF_TOKEN: Hunter2hunter2", ""),
    "a URL": ("FEED: 'https://me:Hunter2hunter2@example.org/simple'", ""),
    "a signature": ("DATA: 'https://a.blob/c?sv=1&sig=Hunter2hunter2'", ""),
    "a connection string": ("STORE: 'AccountName=a;AccountKey=Hunter2hunter2'", ""),
    "a tag": ("", "feed: 'https://me:Hunter2hunter2@example.org/simple'"),
}


@pytest.fixture
def cloud(mlctl: Run, tmp_path: Path) -> Path:
    """What a deployment needs, in the simulated cloud; the folder to write it to."""
    cluster(tmp_path / "cpu.yml")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "score.py").write_text("def init(): ...\ndef run(batch): return batch\n")
    (tmp_path / "model.txt").write_text("a model\n")
    (tmp_path / "rest.yml").write_text(
        "name: classifier\nversion: '1'\ntype: custom_model\npath: model.txt\n"
        "$schema: https://azuremlschemas.azureedge.net/latest/model.schema.json\n---\n"
        "name: env\nversion: '1'\nimage: mcr.microsoft.com/azureml/base\n"
        "$schema: https://azuremlschemas.azureedge.net/latest/environment.schema.json\n---\n"
        "name: scores\n"
        "$schema: https://azuremlschemas.azureedge.net/latest/batchEndpoint.schema.json\n"
    )
    done = mlctl("apply", "cpu.yml", "rest.yml", "--yes")
    assert done.code == 0, done.err
    return tmp_path


SHOW = ("batch-deployment", "show", "-n", "scoring", "-e", "scores")
COMMANDS = [
    ("validate", "d.yml"),
    ("validate", "d.yml", "-o", "json"),
    ("validate", "d.yml", "-o", "sarif"),
    ("plan", "d.yml"),
    ("plan", "d.yml", "-o", "json"),
    ("plan", "d.yml", "-o", "markdown"),
    ("plan", "d.yml", "--destroy"),
    ("apply", "d.yml", "--yes"),
    ("apply", "d.yml", "--yes", "-o", "json"),
    ("batch-deployment", "create", "-f", "d.yml"),
    *((*SHOW, "-o", form) for form in ("json", "yaml", "table")),
    (*SHOW, "--query", "[environment_variables, tags]", "-o", "json"),
    (*SHOW, "--query", "values(tags)", "-o", "tsv"),
    ("batch-deployment", "list", "-e", "scores"),
    ("batch-deployment", "delete", "-n", "scoring", "-e", "scores", "--dry-run"),
]


@pytest.mark.parametrize("where", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_looks_like_a_secret_is_shown_by_no_command(
    mlctl: Run, cloud: Path, where: tuple[str, str]
) -> None:
    (cloud / "d.yml").write_text(DEPLOYMENT % where)
    done = mlctl("validate", "d.yml")
    assert (done.code, "MLC319" in done.out) == (0, True)
    for stage in ("new", "there", "changed"):
        for command in COMMANDS:
            if stage != "new" or command[0] in ("validate", "plan"):
                done = mlctl(*command)
                assert SECRET not in done.out + done.err, (stage, command)
        if stage == "new":
            assert mlctl("apply", "d.yml", "--yes").code == 0
            assert mlctl("plan", "d.yml", "--detailed-exitcode").code == 0
            text = DEPLOYMENT % tuple(one.replace(SECRET, "Other3other3") for one in where)
            (cloud / "d.yml").write_text(text)
            done = mlctl("plan", "d.yml", "--detailed-exitcode")
            assert (done.code, SECRET in done.out, "Other3other3" in done.out) == (2, False, False)
            assert "***" in done.out


def test_a_masked_value_is_written_as_it_is(mlctl: Run, cloud: Path) -> None:
    (cloud / "d.yml").write_text(DEPLOYMENT % HIDDEN["a variable"])
    assert mlctl("plan", "d.yml", "--out", "plan.json").code == 0
    assert SECRET not in (cloud / "plan.json").read_text()
    assert mlctl("apply", "plan.json").code == 0
    assert mlctl("plan", "d.yml", "--detailed-exitcode").code == 0
    shown = mlctl(*SHOW).out
    (cloud / "d.yml").write_text(shown)
    done = mlctl("batch-deployment", "create", "-f", "d.yml")
    assert (done.code, "MLC328" in done.err) == (1, True)


def test_a_saved_plan_is_refused_where_its_secret_could_not_be_found_again(
    mlctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "conda.yml").write_text(
        "dependencies:\n- pip:\n  - --index-url https://me:Hunter2hunter2@example.org/simple\n"
    )
    (tmp_path / "env.yml").write_text(
        "$schema: https://azuremlschemas.azureedge.net/latest/environment.schema.json\n"
        "name: env\nversion: '1'\nimage: mcr.microsoft.com/azureml/base\nconda_file: conda.yml\n"
    )
    done = mlctl("plan", "env.yml", "--out", "plan.json")
    assert (done.code, "looks like a secret" in done.err) == (1, True)
    assert SECRET not in done.out + done.err
    assert not (tmp_path / "plan.json").exists()
    assert mlctl("apply", "env.yml", "--yes").code == 0


def test_a_secret_that_the_service_echoes_is_masked(mlctl: Run, cloud: Path) -> None:
    (cloud / "d.yml").write_text(DEPLOYMENT % HIDDEN["a variable"])
    said = ("--message", f"the value {SECRET} is not allowed", "--status", "400", "--times", "0")
    mlctl("local", "fault", "add", "fail", "--operation", "put", *said)
    for form in ("human", "json"):
        done = mlctl("apply", "d.yml", "--yes", "-o", form)
        assert (done.code, SECRET in done.out + done.err) == (1, False)
        assert "the value *** is not allowed" in done.out + done.err


def test_a_secret_among_the_arguments_is_masked(mlctl: Run) -> None:
    done = mlctl("compute", "show", "-n", "x", "https://me:Hunter2hunter2@example.org")
    assert (done.code, SECRET in done.err) == (2, False)

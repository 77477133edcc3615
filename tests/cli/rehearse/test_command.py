"""`mlctl rehearse`: what it prints, how it ends, what it leaves."""

from __future__ import annotations

import importlib.util
import os
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mlctl.rehearsal.scoring.outcome import RehearsalOutcome
from mlctl.rehearsal.scoring.run import ScoringRun
from mlctl.rehearsal.training import lives
from mlctl.rehearsal.training.lives import RunConditions
from mlctl.rehearsal.training.model import Cut, Trained, Training
from tests.builders import shell
from tests.builders.paths import SAMPLES
from tests.builders.rehearsed import FOLDER, INPUT, marked, wait_for
from tests.builders.shell import Run

APPENDS = FOLDER / "scoring" / "appends.py"


@pytest.fixture
def mlctl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    return shell.inside(tmp_path, monkeypatch, capsys)


def test_a_finding_names_its_line_and_how_to_see_it_again(mlctl: Run) -> None:
    done = mlctl("rehearse", APPENDS, "--input", INPUT, "--kill", "3")
    assert done.code == 1
    assert "appends.py:14:5" in done.out
    words = ["mlctl", "rehearse", str(APPENDS), "--seed", "0", "--input", str(INPUT)]
    assert f"again: {shlex.join([*words, '--kill', '3'])}" in done.out
    assert done.out.splitlines()[-1] == "Verdict: does not survive: MLC603"


@pytest.mark.slow
def test_json_and_junit_say_the_same(mlctl: Run, tmp_path: Path) -> None:
    kill = ("--kill", "3", "--nodes", "2")
    data = mlctl("rehearse", APPENDS, "--input", INPUT, *kill, "-o", "json").json
    assert [one["code"] for one in data["diagnostics"]] == ["MLC603"]
    assert data["runs"][0]["kills"][0]["moment"] == "between the end of run and its report"
    suite = ElementTree.fromstring(
        mlctl("rehearse", APPENDS, "--input", INPUT, *kill, "-o", "junit").out
    )
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")


def test_a_deployment_says_how_its_script_is_run(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "weights.txt").write_text("7")
    (tmp_path / "src" / "score.py").write_text(
        "import os\n"
        "def init():\n    global weight\n"
        "    weight = open(os.path.join(os.environ['AZUREML_MODEL_DIR'], 'm/weights.txt')).read()\n"
        "def run(mini_batch):\n"
        "    words = weight + ' ' + os.environ['WORD'] + ' '\n"
        "    return [words + os.path.basename(one) for one in mini_batch]\n"
    )
    schema = "$schema: https://azuremlschemas.azureedge.net/latest"
    (tmp_path / "d.yml").write_text(
        f"{schema}/modelBatchDeployment.schema.json\nname: deep\nendpoint_name: e-there\n"
        "type: model\nmodel:\n  path: m\n"
        "code_configuration: {code: src, scoring_script: score.py}\n"
        "environment: {image: ubuntu}\nenvironment_variables: {WORD: hello}\n"
        "compute: azureml:c\nresources: {instance_count: 3}\n"
        "settings:\n  mini_batch_size: 1\n  output_file_name: all.csv\n"
    )
    done = mlctl("rehearse", "d.yml", "--input", INPUT, "--kills", "0", "--keep", "kept")
    assert done.code == 0, done.err
    assert "8 inputs in 8 mini-batches on 3 nodes x 1 worker" in done.out
    rows = (tmp_path / "kept" / "runs" / "calm" / "output" / "all.csv").read_text().splitlines()
    assert rows[0] == "7 hello text-0.txt"


def test_a_script_by_itself_gets_its_model_and_its_arguments(mlctl: Run, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "weights.txt").write_text("7")
    (tmp_path / "score.py").write_text(
        "import os, sys\ndef run(mini_batch):\n"
        "    path = os.path.join(os.environ['AZUREML_MODEL_DIR'], 'm', 'weights.txt')\n"
        "    words = open(path).read() + ' ' + sys.argv[2] + ' '\n"
        "    return [words + os.path.basename(one) for one in mini_batch]\n"
    )
    given = ("rehearse", "score.py", "--input", INPUT, "--arguments", "--word hello")
    done = mlctl(*given, "--model", "m", "--kills", "0", "--keep", "kept")
    assert done.code == 0, done.err
    rows = (tmp_path / "kept" / "runs" / "calm" / "output" / "predictions.csv").read_text()
    assert "7 hello text-0.txt\n" in rows
    assert "there is no model `gone`" in mlctl(*given, "--model", "gone").err


def test_rows_that_no_text_file_can_hold_are_no_bug(mlctl: Run) -> None:
    text = "def run(mini_batch):\n    return ['\\udc80' + path[-5] for path in mini_batch]\n"
    Path("score.py").write_text(text)
    done = mlctl("rehearse", "score.py", "--input", INPUT, "--kills", "0")
    assert (done.code, done.err.count("bug")) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("script", ["scoring/appends.py", "training/momentum.py"])
def test_what_was_learned_until_ctrl_c_is_said(
    script: str, mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored, trained = ScoringRun.run, lives.train

    def score(run: ScoringRun) -> RehearsalOutcome:
        if run.folder.name == "kill-4":
            raise KeyboardInterrupt
        return scored(run)

    def train(
        training: Training, conditions: RunConditions, folder: Path, cuts: Sequence[Cut] = ()
    ) -> Trained:
        if folder.name == "kill-4":
            raise KeyboardInterrupt
        return trained(training, conditions, folder, cuts)

    monkeypatch.setattr(ScoringRun, "run", score)
    monkeypatch.setattr("mlctl.rehearsal.training.rehearsal.train", train)
    inputs = () if "training" in script else ("--input", INPUT)
    done = mlctl("rehearse", FOLDER / script, *inputs)
    assert done.code == 1
    verdict = done.out.splitlines()[-1]
    assert verdict.startswith("Verdict: unfinished, after 3 runs with losses; does not survive:")
    assert "Keyboard interrupt is captured." in done.err


@pytest.mark.slow
@pytest.mark.parametrize("script", ["scoring/appends.py", "training/momentum.py"])
def test_a_rehearsal_stopped_before_its_first_kill_says_how_far_it_came(
    script: str, mlctl: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored, trained = ScoringRun.run, lives.train

    def score(run: ScoringRun) -> RehearsalOutcome:
        if run.folder.name == "again":
            raise KeyboardInterrupt
        return scored(run)

    def train(training: Training, conditions: RunConditions, folder: Path) -> Trained:
        if folder.name == "again":
            raise KeyboardInterrupt
        return trained(training, conditions, folder)

    monkeypatch.setattr(ScoringRun, "run", score)
    monkeypatch.setattr(
        "mlctl.rehearsal.training.rehearsal.train",
        lambda training, conditions, folder, _cuts: train(training, conditions, folder),
    )
    inputs = () if "training" in script else ("--input", INPUT)
    done = mlctl("rehearse", FOLDER / script, *inputs)
    said = "stopped in the calm run `again`, before any kill; calm ended without an error"
    assert (done.code, said in done.err) == (1, True), done.err


LOCKS = """\
import os
import tempfile

def init():
    os.close(os.open(os.path.join(tempfile.gettempdir(), "lock"), os.O_CREAT | os.O_EXCL))

def run(mini_batch):
    return mini_batch
"""


def test_a_lock_that_two_workers_of_a_node_take_is_met_with_workers(mlctl: Run) -> None:
    Path("score.py").write_text(LOCKS)
    done = mlctl("rehearse", "score.py", "--input", INPUT, "--workers", "2", "--kills", "0")
    assert (done.code, "FileExistsError" in done.err) == (1, True), done.err
    done = mlctl("rehearse", FOLDER / "training" / "momentum.py", "--workers", "2")
    assert (done.code, "`distribution`" in done.err) == (1, True), done.err


@pytest.mark.slow
def test_under_strict_a_warning_fails(mlctl: Run) -> None:
    Path("score.py").write_text(
        "def run(mini_batch):\n    open('beside', 'w').close()\n    return mini_batch\n"
    )
    line = ("rehearse", "score.py", "--input", INPUT, "--kills", "0")
    assert mlctl(*line).code == 0
    strict = mlctl(*line, "--strict")
    assert strict.code == 1
    assert strict.out.splitlines()[-1] == "Verdict: does not survive: MLC614"


def test_weather_takes_nodes_away_in_one_run(mlctl: Run) -> None:
    losses = Path("losses.txt")
    losses.write_text("# second, node\n40 1\n100 2\n")
    script = APPENDS.with_name("appends_cured.py")
    done = mlctl("rehearse", script, "--input", INPUT, "--script", losses)
    assert done.code == 0
    assert "Kills:   2 nodes lost: 2 inside run" in done.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing.py", "--input", INPUT), "there is no script `nothing.py`"),
        ((APPENDS,), "a scoring script needs inputs"),
        ((APPENDS, "--input", "nowhere"), "there is no input `nowhere`"),
        ((APPENDS, "--input", "empty"), "the input `empty` has no files"),
        ((APPENDS, "--input", INPUT, "--tabular"), "has no rows, as an MLTable or .csv"),
        ((APPENDS, "--input", INPUT, "--arguments", "'a"), "No closing quotation: `'a`"),
        ((APPENDS, "--input", INPUT, "--python", "nopython"), "there is no program `nopython`"),
        ((APPENDS, "--input", INPUT, "--python", "true"), "is not Python 3.8 or newer"),
        ((APPENDS, "--input", INPUT, "--timeout", "0"), "'0' is not a valid value"),
        ((APPENDS, "--input", INPUT, "--weather", "hail"), "`hail` is neither a file nor one of"),
        ((APPENDS, "--input", INPUT, "--keep", "empty"), "cannot make the folder `empty`"),
        (("bad.py", "--input", INPUT), "bad.py:2: the script cannot be used: SyntaxError"),
        (("wants.py", "--input", INPUT), "wants.py:1: No module named 'nothere'; use --python"),
        ((SAMPLES / "pipeline-batch", "--input", INPUT), "has no scoring script: it runs a"),
        ((SAMPLES / "clusters", "--input", INPUT), "has no batch deployment"),
    ],
)
def test_what_cannot_be_rehearsed_is_one_sentence(
    words: tuple[str, ...], says: str, mlctl: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "scratch").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.py").write_text("x = 1\ndef run(:\n")
    (tmp_path / "wants.py").write_text("import nothere\ndef run(paths):\n    return paths\n")
    done = mlctl("rehearse", *words)
    assert done.code == 1
    assert says in done.err
    assert done.out == ""
    assert list((tmp_path / "scratch").iterdir()) == []


HANGS = """\
import importlib.util
import os
def run(mini_batch):
    told = os.open(os.environ["TOLD"], os.O_WRONLY)
    os.write(told, b"x")
    os.close(told)
    os.read(os.open(os.environ["NEVER"], os.O_RDWR), 1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_process_is_left_when_a_rehearsal_is_stopped(number: int, tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    for name in ("told", "never"):
        os.mkfifo(tmp_path / name)
    with shell.inherited(signal.SIGHUP, signal.SIG_DFL):
        process = shell.start(
            *(tmp_path, "rehearse", "hangs.py", "--input", INPUT, "--network"),
            env={
                "TOLD": str(tmp_path / "told"),
                "NEVER": str(tmp_path / "never"),
                "TMPDIR": str(tmp_path),
            },
        )
    with (tmp_path / "told").open("rb") as told:
        assert told.read(1) == b"x"
    children = [pid for pid in marked() if str(tmp_path) in pid[1]]
    assert children
    process.send_signal(number)
    process.communicate(timeout=60)
    for pid, _ in children:
        wait_for(pid)
    assert [one for one in marked() if str(tmp_path) in one[1]] == []
    if number != signal.SIGKILL:
        assert process.returncode == 1
        assert list(tmp_path.glob("mlctl-rehearsal-*")) == []


@pytest.mark.slow
def test_a_model_without_a_script_is_scored_by_a_stub_where_mlflow_is_absent(mlctl: Run) -> None:
    batch = SAMPLES / "low-priority-batch"
    given = ("rehearse", batch, "--input", SAMPLES / "data" / "patients.csv")
    done = mlctl(*given, "--kills", "1", "--stub")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1].startswith("Verdict: survives")
    if importlib.util.find_spec("mlflow") is None:
        refused = mlctl(*given)
        assert refused.code == 1
        assert "--stub answers in its place" in refused.err


def test_what_a_rehearsal_left_is_verified(mlctl: Run) -> None:
    script = APPENDS.with_name("counts_up_cured.py")
    assert mlctl("rehearse", script, "--input", INPUT, "--kills", "0", "--keep", "kept").code == 0
    good = mlctl("job", "verify", "kept/runs/calm/output", "--input", INPUT)
    assert (good.code, good.out.split(",")[0]) == (0, "Every one of 8 inputs has its rows")
    rows = Path("kept/runs/calm/output/predictions.csv")
    rows.write_text(rows.read_text().replace("text-3.txt", "text-4.txt"))
    bad = mlctl("job", "verify", "kept/runs/calm/output", "--input", INPUT)
    assert bad.code == 1
    assert "1 of 8 inputs has no row: `text-3.txt`" in bad.out

"""`mlctl fmt`, from the shell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.builders.shell import Run

MESSY = "type: amlcompute\nsize:   Standard_D4ds_v5\nname: cpu # ours\n"
NEAT = "name: cpu  # ours\ntype: amlcompute\nsize: Standard_D4ds_v5\n"
WORKFLOW = "jobs:\n    build:   {runs-on: ubuntu-latest}\non: push\n"


@pytest.fixture(autouse=True)
def project(mlctl: Run, tmp_path: Path) -> Path:
    (tmp_path / "messy.yml").write_text(MESSY)
    (tmp_path / "neat.yml").write_text(NEAT)
    return tmp_path


def test_what_changes_is_written_and_printed(mlctl: Run, project: Path) -> None:
    done = mlctl("fmt")
    assert (done.code, done.out, done.err) == (0, "messy.yml\n", "")
    assert (project / "messy.yml").read_text() == NEAT
    assert mlctl("fmt").out == ""


def test_check_writes_nothing_and_exits_with_1(mlctl: Run, project: Path) -> None:
    done = mlctl("fmt", "--check", ".")
    assert (done.code, done.out) == (1, "messy.yml\n")
    assert (project / "messy.yml").read_text() == MESSY
    assert mlctl("fmt", "neat.yml", "--check").code == 0


def test_diff_shows_the_lines_and_writes_nothing(mlctl: Run, project: Path) -> None:
    done = mlctl("fmt", "--diff")
    assert done.code == 0
    assert "-size:   Standard_D4ds_v5\n" in done.out
    assert "+size: Standard_D4ds_v5\n" in done.out
    assert (project / "messy.yml").read_text() == MESSY
    assert mlctl("fmt", "--diff", "--check").code == 1


def test_stdin_goes_to_stdout(mlctl: Run) -> None:
    for text, expected in ((MESSY, NEAT), (NEAT, NEAT), (WORKFLOW, WORKFLOW)):
        assert mlctl("fmt", "-", given=text).out == expected
    assert mlctl("fmt", "-", "--check", given=MESSY).out == "<stdin>\n"


def test_a_file_of_another_tool_is_left_alone_with_a_note(mlctl: Run, project: Path) -> None:
    (project / "workflow.yml").write_text(WORKFLOW)
    done = mlctl("fmt", "workflow.yml")
    assert (done.code, done.out) == (0, "")
    assert done.err == "note: workflow.yml: left as it is, no document of mlctl's\n"
    assert (project / "workflow.yml").read_text() == WORKFLOW


def test_what_is_laid_out_in_an_unusual_way_is_left_alone_with_its_line(
    mlctl: Run, project: Path
) -> None:
    odd = "name:   cpu\ntype: amlcompute\n? size\n: x\n"
    (project / "odd.yml").write_text(odd)
    done = mlctl("fmt", "odd.yml")
    assert (done.code, done.out) == (0, "")
    assert done.err == "note: odd.yml:2: left as it is, a value is written in an unusual way\n"
    assert (project / "odd.yml").read_text() == odd


def test_what_cannot_be_read_is_an_error_and_the_rest_is_laid_out(
    mlctl: Run, project: Path
) -> None:
    (project / "broken.yml").write_text("name: [a\n")
    done = mlctl("fmt", ".", "nowhere.yml")
    assert (done.code, done.out) == (1, "messy.yml\n")
    assert "error[MLC001]" in done.err
    assert "`nowhere.yml` cannot be read" in done.err
    assert (project / "broken.yml").read_text() == "name: [a\n"


def test_files_of_mlctl_itself_are_laid_out_by_their_schemas(mlctl: Run, project: Path) -> None:
    (project / "mlctl.yml").write_text("environments:\n    dev: {workspace: a}\nproject: ours\n")
    cases = project / "tests" / "a.test.yml"
    cases.parent.mkdir()
    cases.write_text("tests:\n- files: [a.yml]\n  name: x\n")
    overlay = project / "prod.yml"
    overlay.write_text("compute/cpu:\n    size:  b\n")
    (project / "rules.yml").write_text("policies:\n- name:  x\n  rule: a.b == 1\n")
    assert mlctl("fmt").out == "messy.yml\nmlctl.yml\nprod.yml\nrules.yml\ntests/a.test.yml\n"
    assert (project / "mlctl.yml").read_text() == (
        "project: ours\nenvironments:\n  dev: {workspace: a}\n"
    )
    assert cases.read_text() == "tests:\n  - name: x\n    files: [a.yml]\n"
    assert overlay.read_text() == "compute/cpu:\n  size: b\n"


def test_a_document_begins_with_what_it_is(mlctl: Run, project: Path) -> None:
    head = "name: blue\nendpoint_name: scores\ntype: model\n"
    written = "description: x\ntype: model\nendpoint_name: scores\nname: blue\nmodel: azureml:m:1\n"
    (project / "deployment.yml").write_text(written)
    mlctl("fmt", "deployment.yml")
    assert (project / "deployment.yml").read_text() == (
        f"{head}description: x\nmodel: azureml:m:1\n"
    )


def test_a_byte_order_mark_and_carriage_returns_go(mlctl: Run, project: Path) -> None:
    windows = NEAT.replace("\n", "\r\n").encode("utf-8-sig")
    (project / "neat.yml").write_bytes(windows)
    told = mlctl("fmt", "neat.yml", "--diff").out
    assert told == "neat.yml: only line ends, the final newline or the byte order mark\n"
    assert mlctl("fmt", "neat.yml").out == "neat.yml\n"
    assert (project / "neat.yml").read_bytes() == NEAT.encode()


def test_steps_of_a_pipeline_keep_their_order(mlctl: Run, project: Path) -> None:
    step = "type: command\n    command: echo\n"
    turned = "command: echo\n    type: command\n"
    pipeline = "type: pipeline\njobs:\n  z:\n    {}  a:\n    {}"
    (project / "pipeline.yml").write_text(pipeline.format(turned, turned))
    mlctl("fmt", "pipeline.yml")
    assert (project / "pipeline.yml").read_text() == pipeline.format(step, step)


def test_a_pipe_that_is_named_is_an_error_for_it_cannot_be_written(
    mlctl: Run, project: Path
) -> None:
    reader, writer = os.pipe()
    os.write(writer, MESSY.encode())
    os.close(writer)
    done = mlctl("fmt", f"/dev/fd/{reader}")
    os.close(reader)
    assert done.code == 1
    assert "is no regular file" in done.err
    assert "use `-` for standard input" in done.err


def test_a_pipe_in_a_folder_is_not_waited_for(mlctl: Run, project: Path) -> None:
    os.mkfifo(project / "pipe.yml")
    done = mlctl("fmt", ".")
    assert done.code == 1
    assert "`pipe.yml` cannot be read: it is no regular file" in done.err


def test_what_export_writes_is_laid_out(mlctl: Run, project: Path) -> None:
    mlctl("init", "low-priority-batch", "--to", "begun")
    assert mlctl("apply", "begun", "--yes", "--var", "stage=dev").code == 0
    assert mlctl("export", "--to", "out").code == 0
    assert mlctl("fmt", "--check", "out").out == ""


def test_a_link_out_of_the_folder_is_left_alone(mlctl: Run, project: Path) -> None:
    inside, outside = project / "inside", project / "messy.yml"
    (inside / "deep").mkdir(parents=True)
    (inside / "link.yml").symlink_to(outside)
    (inside / "folder").symlink_to(project)
    (inside / "deep" / "own.yml").write_text(MESSY)
    (inside / "own-link.yml").symlink_to(inside / "deep" / "own.yml")
    done = mlctl("fmt", "inside")
    assert done.code == 0
    assert "inside/link.yml: left as it is, a link leads out of the folder" in done.err
    assert outside.read_text() == MESSY
    assert (inside / "deep" / "own.yml").read_text() == NEAT
    assert mlctl("fmt", "inside/link.yml").out == "inside/link.yml\n"
    assert outside.read_text() == NEAT

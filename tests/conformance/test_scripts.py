"""`python -m conformance scripts`: where the scripts of a folder end."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.__main__ import main

SCRIPTS = {
    "good/run.sh": "az version > /dev/null && cat names.yml",
    "good/names.yml": "name: a",
    "bad.sh": "az ml nothing create",
    "careful.sh": "az ml nothing create || true\nif az ml nothing show; then :; fi\naz version",
    "piped.sh": "az ml nothing create | cat",
    "stuck.sh": "exec sleep 60",
}


@pytest.mark.slow
def test_scripts_run_on_their_own_and_the_table_says_where_each_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in SCRIPTS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert main(["scripts", str(tmp_path), "--timeout", "10"]) == 1
    lines = capsys.readouterr().out.splitlines()
    bad, careful, good, piped, stuck = (line.split(maxsplit=4) for line in lines[1:6])
    assert careful == ["careful.sh", "0", "3", "0"]
    assert piped[:4] == ["piped.sh", "0", "1", "1"]
    assert good == ["good/run.sh", "0", "1", "0"]
    assert bad[:4] == ["bad.sh", "2", "1", "1"]
    assert "az ml nothing create" in bad[4]
    assert stuck[:2] == ["stuck.sh", "time"]
    assert lines[-1] == "2 of 5 scripts ran to their end"
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")} == {*SCRIPTS}


def test_a_folder_without_scripts_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scripts", str(tmp_path)]) == 1
    assert "has no scripts" in capsys.readouterr().err

"""Documents made to hang or to fill the memory: they end soon, with findings and no traceback.

Two seconds and 300 MB are aimed at; the limits here are wider, for machines under load, and stop
what would not end. `make fuzz` tries more.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.shell import environment

SCHEMA = "$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json\n"
HEAD = SCHEMA + "name: cluster\ntype: amlcompute\n"
SIZE = "size: Standard_DS3_v2\n"
MANY = range(4000)
DOCUMENTS = {
    "a size of 1 MB": HEAD + f"size: Standard_{'D' * 1_000_000}\n",
    "a location of 1 MB": HEAD + SIZE + f"location: {'x' * 1_000_000}\n",
    "a name of 1 MB": HEAD.replace("cluster", "n" * 1_000_000) + SIZE,
    "a key of 1 MB": HEAD + SIZE + f"{'k' * 1_000_000}: 1\n",
    "1 000 unknown fields": HEAD + SIZE + "".join(f"field{i}: 1\n" for i in range(1000)),
    "4 000 tags": HEAD + SIZE + "tags:\n" + "".join(f"  k{i}: yes\n" for i in MANY),
    "4 000 tags on a line": HEAD + SIZE + f"tags: {{{', '.join(f'k{i}: yes' for i in MANY)}}}\n",
    "4 000 aliases of 1 MB": HEAD
    + SIZE
    + f"description: &a {'z' * 1_000_000}\ntags:\n"
    + "".join(f"  k{i}: *a\n" for i in MANY),
    "a number of 5 000 digits": HEAD + SIZE + f"max_instances: {'9' * 5000}\n",
    "2 000 unknown sizes": "---\n".join(
        f"{SCHEMA}name: cluster{i}\ntype: amlcompute\nsize: Standard_X{i}_v{i}\n"
        for i in range(2000)
    ),
    "90 lists in lists": HEAD + SIZE + f"tags: {'[' * 90}{']' * 90}\n",
}
SECONDS, BYTES = 30, 1 << 30
SHOWN = 100_000  # characters: what a person can be shown


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_wants_much_ends_soon(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(DOCUMENTS[name])
    done = subprocess.run(
        [sys.executable, "-m", "mlctl", "validate", "a.yml"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited,
    )
    assert done.returncode in (0, 1)
    assert done.stderr == ""
    assert "[MLC" in done.stdout
    assert len(done.stdout) < SHOWN


def test_of_many_findings_the_first_hundred_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(DOCUMENTS["1 000 unknown fields"])
    done = subprocess.run(
        [sys.executable, "-m", "mlctl", "validate", "a.yml"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.count("error[MLC101]") == 100
    assert "a.yml: 902 more findings, not shown" in done.stdout
    assert "Found 1000 errors" in done.stdout

"""Editors and agents get what `validate`, `explain` and `plan` say."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mlctl.cli.assist import server
from tests.builders.shell import cluster, environment

HEAD = "$schema: https://azuremlschemas.azureedge.net/latest/amlCompute.schema.json\n"


def words(text: str, names: dict[str, list[str]] | None = None) -> list[str]:
    """What may stand where `text` has a `|`."""
    before, _, after = text.partition("|")
    line, column = before.count("\n"), len(before.rpartition("\n")[2])
    return [word.word for word in server.completions(before + after, line, column, names or {})]


def test_fields_that_are_not_there_yet_may_begin_a_line() -> None:
    offered = words(HEAD + "name: cpu\ntype: amlcompute\n|\nsize: Standard_DS3_v2\n")
    assert {"tier", "max_instances"} <= {*offered}
    assert not {"name", "size", "provisioning_state"} & {*offered}


def test_fields_of_a_mapping_may_stand_in_it() -> None:
    assert words(HEAD + "type: amlcompute\nnetwork_settings:\n  |\n") == ["vnet_name", "subnet"]


def test_the_words_of_a_field_may_stand_behind_it() -> None:
    assert words(HEAD + "type: amlcompute\ntier: |\n") == ["dedicated", "low_priority"]


def test_names_of_a_folder_are_read_again_only_where_a_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (tmp_path / f"c{number}.yml").write_text(f"name: c{number}\ntype: amlcompute\nsize: a\n")
    server.declared_names(tmp_path)
    reads: list[str] = []
    plain = server._plain

    def read(path: str) -> dict[str, Any]:
        reads.append(path)
        return plain(path)

    monkeypatch.setattr(server, "_plain", read)
    (tmp_path / "c7.yml").write_text("name: renamed\ntype: amlcompute\nsize: a\n")
    names = server.declared_names(tmp_path)
    assert reads == [str(tmp_path / "c7.yml")]
    assert "azureml:renamed" in names["compute"]


def test_declared_names_may_stand_where_a_kind_is_named(tmp_path: Path) -> None:
    cluster(tmp_path / "cpu.yml")
    names = server.declared_names(tmp_path)
    assert names == {"compute": ["azureml:cpu"]}
    deployment = HEAD.replace("amlCompute", "modelBatchDeployment") + "compute: |\n"
    assert "azureml:cpu" in words(deployment, names)


def test_a_finding_has_the_word_that_mends_it(tmp_path: Path) -> None:
    text = HEAD + "name: cpu\ntype: amlcompute\nmax_instances: 2\ntire: dedicated\n"
    (finding,) = server.findings_of(tmp_path / "cpu.yml", text)
    assert (finding.rule.code, server.suggestion(finding)) == ("MLC101", "tier")


def test_the_text_of_the_editor_counts_and_not_that_of_the_disk(tmp_path: Path) -> None:
    file = cluster(tmp_path / "cpu.yml")
    assert server.findings_of(file, file.read_text()) == []
    assert server.findings_of(file, "name: [\n")[0].rule.code == "MLC001"


@pytest.mark.parametrize("text", ["", "\n", "a", ":", "- ", "tier:\n", "$schema: x\n", "\t\n:: |"])
@pytest.mark.parametrize("line", [0, 1, 5])
def test_any_text_can_be_asked_about(text: str, line: int) -> None:
    assert server.completions(text, line, 0, {}) is not None
    assert server.hover_text(text, line) is None


def test_a_field_explains_itself() -> None:
    page = server.hover_text(HEAD + "type: amlcompute\ntags:\n  a: b\ntier: dedicated\n", 4)
    assert page is not None
    assert page.startswith("compute.tier")


@contextmanager
def editor(folder: Path) -> Iterator[Any]:
    """An editor's end of a language server: a function that sends, and one that receives."""
    pytest.importorskip("pygls")
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "mlctl", "lsp"],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin
    assert process.stdout

    def send(**message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]

    def receive() -> dict[str, Any]:
        length = 0
        while line := process.stdout.readline().strip():  # type: ignore[union-attr]
            name, _, value = line.partition(b": ")
            length = int(value) if name == b"Content-Length" else length
        answer: dict[str, Any] = json.loads(process.stdout.read(length))  # type: ignore[union-attr]
        return answer

    try:
        yield send, receive
        send(id=0, method="shutdown")
        while receive().get("id") != 0:
            pass
        send(method="exit")
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.mark.slow
def test_an_editor_is_told_what_is_wrong_and_mends_it(tmp_path: Path) -> None:
    uri = (tmp_path / "cpu.yml").as_uri()
    text = HEAD + "name: cpu\ntype: amlcompute\nmax_instances: 2\ntire: dedicated\n"
    with editor(tmp_path) as (send, receive):
        send(id=1, method="initialize", params={"capabilities": {}, "processId": None})
        assert receive()["result"]["capabilities"]["hoverProvider"]
        send(method="initialized", params={})
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        send(method="textDocument/didOpen", params={"textDocument": document})
        (diagnostic,) = receive()["params"]["diagnostics"]
        assert diagnostic["code"] == "MLC101"
        assert diagnostic["range"]["start"] == {"line": 4, "character": 0}
        params = {
            "textDocument": {"uri": uri},
            "range": diagnostic["range"],
            "context": {"diagnostics": [diagnostic]},
        }
        send(id=2, method="textDocument/codeAction", params=params)
        (action,) = receive()["result"]
        assert action["edit"]["changes"][uri][0]["newText"] == "tier"


@pytest.mark.slow
def test_an_agent_plans_and_cannot_write(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    from mcp import ClientSession, StdioServerParameters, stdio_client  # noqa: PLC0415

    cluster(tmp_path / "cpu.yml")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "mlctl", "mcp"],
        cwd=str(tmp_path),
        env=environment(tmp_path),
    )

    async def talk() -> tuple[list[str], str, str]:
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            planned = await session.call_tool("plan", {"paths": ["cpu.yml"]})
            refused = await session.call_tool("plan", {"paths": ["cpu.yml", "--out=plan.json"]})
            texts = [getattr(answer.content[0], "text", "") for answer in (planned, refused)]
            return [tool.name for tool in tools], texts[0], texts[1]

    names, planned, refused = asyncio.run(talk())
    assert names == ["validate", "plan", "explain", "simulate", "drift"]
    assert '"create"' in planned
    assert "does not begin with `-`" in refused
    assert not (tmp_path / "plan.json").exists()

"""The emulator behind a socket: TLS, many clients, large bodies, broken connections, ends."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import ssl
import stat
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mlctl.backends.local.backend import LocalBackend
from mlctl.kinds.address import Address, Scope
from tests.builders.emulator import CLUSTER, MODEL, VERSION
from tests.builders.served import COMMAND, Served, serving
from tests.builders.shell import Done, environment, finish, inside, start

CLIENTS = 64
NOW = datetime(2026, 1, 1, tzinfo=UTC)


Emulator = Callable[..., Done]


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Emulator:
    """Run `mlctl emulator ...` in a folder, inside this process."""

    def go(folder: Path, *words: str) -> Done:
        return inside(folder, monkeypatch, capsys)("emulator", *words)

    return go


def exported(done: Done) -> dict[str, str]:
    """The variables of `mlctl emulator env`."""
    assert done.code == 0, done.err
    pairs = (line.removeprefix("export ").partition("=") for line in done.out.splitlines())
    return {name: value.strip("'") for name, _, value in pairs}


def refused(folder: Path, *flags: str) -> Done:
    """A start that is expected to fail, in a process of its own."""
    pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
    process = start(folder, "emulator", "start", *flags)
    return finish(process)


def test_it_says_where_it_is_in_one_line(served: Served) -> None:
    assert list(served.told) == [
        "url",
        "ca_file",
        "subscription",
        "resource_group",
        "workspace",
        "pid",
    ]
    assert served.told["pid"] == served.process.pid


def test_it_answers_over_tls_to_who_trusts_its_authority(served: Served) -> None:
    status, body = served.ask("GET", served.workspace)
    assert (status, body["id"]) == (200, served.workspace)


def test_private_files_are_readable_by_their_owner_only(served: Served) -> None:
    for name in ("emulator.json", "emulator/server.key"):
        mode = (served.folder / ".mlctl" / name).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600


def test_the_exports_lead_to_the_emulator(served: Served, emulator: Emulator) -> None:
    found = exported(emulator(served.folder, "env"))
    url = served.told["url"]
    assert found["ARM_CLOUD_METADATA_URL"].startswith(f"{url}/metadata/endpoints?")
    assert found["IDENTITY_ENDPOINT"].startswith(f"{url}/")
    assert found["AZURE_ML_DISABLE_ON_DISK_CACHE"] == "True"
    assert str(served.told["ca_file"]) != found["REQUESTS_CA_BUNDLE"]
    ours = Path(served.told["ca_file"]).read_text()
    assert Path(found["REQUESTS_CA_BUNDLE"]).read_text().startswith(ours)


def test_where_nothing_runs_there_is_nothing_to_export(tmp_path: Path, emulator: Emulator) -> None:
    assert emulator(tmp_path, "env").code != 0


@pytest.mark.parametrize("pid", ["7", -1, 0, 10**30, None, 2**22 + 1])
def test_a_note_of_no_emulator_leads_nowhere(
    tmp_path: Path, pid: object, emulator: Emulator
) -> None:
    names = ("ca_file", "bundle", "subscription", "resource_group", "workspace", "token")
    folder = tmp_path / ".mlctl"
    where = {"url": "https://127.0.0.1:9", "folder": str(folder)}
    folder.mkdir()
    note = {**dict.fromkeys(names, ""), **where, "pid": pid}
    (folder / "emulator.json").write_text(json.dumps(note))
    (folder / "emulator.json").chmod(0o600)
    ended = emulator(tmp_path, "env")
    assert (ended.code, "no emulator runs" in ended.err) == (1, True)


@pytest.mark.slow
def test_the_last_one_started_is_the_one_to_talk_to_as_long_as_it_runs(
    tmp_path: Path, emulator: Emulator
) -> None:
    with serving(tmp_path, "--http") as first:
        with serving(tmp_path, "--http") as second:
            assert exported(emulator(tmp_path, "env"))["IDENTITY_ENDPOINT"].startswith(
                second.told["url"]
            )
            second.stop()
        assert exported(emulator(tmp_path, "env"))["IDENTITY_ENDPOINT"].startswith(
            first.told["url"]
        )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(alone: Served, number: signal.Signals) -> None:
    with alone.connection() as idle:
        alone.ask("GET", alone.workspace, over=idle)
        assert alone.stop(number) == 0
    assert not (alone.folder / ".mlctl" / "emulator.json").exists()


@pytest.mark.slow
def test_its_certificate_is_made_once(tmp_path: Path) -> None:
    trusted = []
    for _ in range(2):
        with serving(tmp_path) as found:
            trusted.append(Path(found.told["ca_file"]).read_text())
            assert found.ask("GET", found.workspace)[0] == 200
    assert trusted[0] == trusted[1]


def test_a_key_that_is_broken_or_was_open_to_others_is_made_anew(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the emulator extra is not installed")
    from mlctl.emulator.http import certificates

    first = certificates.ensure(tmp_path, ["127.0.0.1"], NOW)
    made = first.key.read_bytes()
    assert certificates.ensure(tmp_path, ["127.0.0.1"], NOW).key.read_bytes() == made
    first.key.chmod(0o640)
    opened = certificates.ensure(tmp_path, ["127.0.0.1"], NOW).key.read_bytes()
    assert (opened == made, stat.S_IMODE(first.key.stat().st_mode)) == (False, 0o600)
    first.key.write_text("garbage")
    assert certificates.ensure(tmp_path, ["127.0.0.1"], NOW).key.read_bytes() != opened
    first.key.write_bytes(made)
    assert certificates.ensure(tmp_path, ["127.0.0.1"], NOW).key.read_bytes() != made
    before = first.authority.read_bytes()
    certificates.ensure(tmp_path, ["127.0.0.1"], NOW + timedelta(days=396))
    assert first.authority.read_bytes() != before


@pytest.mark.slow
def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path) as found:
        found.ask("PUT", f"{found.workspace}/models/m/versions/1", MODEL)
        found.process.kill()
    with serving(tmp_path) as found:
        assert found.ask("GET", f"{found.workspace}/models/m/versions/1")[0] == 200


@pytest.mark.slow
def test_64_clients_at_once_lose_and_cross_nothing(alone: Served) -> None:
    def client(number: int) -> list[str]:
        seen = []
        with alone.connection() as over:
            for turn in range(5):
                path = f"{alone.workspace}/models/m{number}/versions/{turn}"
                body = {"properties": {**MODEL["properties"], "description": f"{number}/{turn}"}}
                put = alone.ask("PUT", path, body, over=over)
                got = alone.ask("GET", path, over=over)
                assert (put[0], got[0]) == (201, 200)
                seen.append(got[1]["properties"]["description"])
        return seen

    with ThreadPoolExecutor(CLIENTS) as pool:
        seen = list(pool.map(client, range(CLIENTS)))
    assert seen == [[f"{number}/{turn}" for turn in range(5)] for number in range(CLIENTS)]
    for number in range(CLIENTS):
        listed = alone.ask("GET", f"{alone.workspace}/models/m{number}/versions")[1]["value"]
        assert len(listed) == 5


@pytest.mark.slow
def test_what_was_answered_before_a_kill_is_kept(tmp_path: Path) -> None:
    kept: list[str] = []

    def client(number: int) -> None:
        with found.connection() as over:
            for turn in range(1000):
                path = f"{found.workspace}/models/m{number}/versions/{turn}"
                if found.ask("PUT", path, MODEL, over=over)[0] == 201:
                    kept.append(path)
                if len(kept) > 200:
                    found.process.kill()

    with serving(tmp_path) as found, ThreadPoolExecutor(CLIENTS) as pool:
        for each in [pool.submit(client, number) for number in range(CLIENTS)]:
            with pytest.raises((OSError, http.client.HTTPException)):
                each.result()
    with serving(tmp_path) as again, again.connection() as over:
        assert {again.ask("GET", path, over=over)[0] for path in kept} == {200}


def test_a_body_that_is_too_large_is_refused_in_arms_words(served: Served) -> None:
    body = b'{"x": "' + b"x" * (17 * 2**20) + b'"}'
    status, error = served.ask("PUT", f"{served.workspace}/computes/cpu", body)
    assert (status, error["error"]["code"]) == (413, "RequestEntityTooLarge")


def test_who_asks_first_is_told_not_to_send_what_is_too_large(served: Served) -> None:
    with served.connection() as over:
        over.putrequest("PUT", f"{served.workspace}/computes/cpu?{VERSION}")
        over.putheader("expect", "100-continue")
        over.putheader("content-length", str(2**40))
        over.endheaders()
        response = over.getresponse()
        assert (response.status, response.headers["connection"]) == (413, "close")


def test_who_stops_in_the_middle_of_a_body_is_not_waited_for() -> None:
    pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
    from mlctl.emulator import Response
    from mlctl.emulator.http.server import Application

    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "PUT", "path": "/", "query_string": b"", "headers": []}
    application = Application(lambda _: Response(200), timeout=0.001)
    asyncio.run(application({**scope, "scheme": "http"}, receive, send))
    assert sent[0]["status"] == 408


def test_a_host_that_is_not_its_own_is_refused(served: Served) -> None:
    status, error = served.ask("GET", served.workspace, headers={"host": "evil.example"})
    assert (status, error["error"]["code"]) == (421, "MisdirectedRequest")


def test_a_name_that_it_was_given_is_its_own_and_in_its_certificate(tmp_path: Path) -> None:
    with serving(tmp_path, "--allow-host", "box.example") as found:
        assert found.ask("GET", found.workspace, headers={"host": "box.example"})[0] == 200
        trusted = ssl.create_default_context(cafile=str(found.told["ca_file"]))
        where = urlsplit(str(found.told["url"]))
        with socket.create_connection((str(where.hostname), int(where.port or 0))) as plain:
            trusted.wrap_socket(plain, server_hostname="box.example").close()


@pytest.mark.slow
def test_faults_that_were_ordered_before_it_starts_strike_it(tmp_path: Path) -> None:
    order = ["local", "fault", "add", "refuse", "--status", "429", "--retry-after", "seconds"]
    done = subprocess.run(
        [*COMMAND[:-1], *order],
        cwd=tmp_path,
        env=environment(tmp_path),
        check=True,
        capture_output=True,
    )
    assert done.stdout == b"1\n"
    with serving(tmp_path, "--http") as found:
        assert [found.ask("GET", found.workspace)[0] for _ in range(2)] == [429, 200]


def test_a_blob_may_be_larger(served: Served) -> None:
    with served.connection() as over:
        over.request("PUT", "/blob/acct/box/large.bin", b"x" * (17 * 2**20))
        assert over.getresponse().status == 201


def test_a_connection_breaks_where_a_fault_says_so(alone: Served) -> None:
    alone.ask("POST", "/mlctl/faults", {"trouble": "hang-up", "method": "GET"})
    with pytest.raises((http.client.RemoteDisconnected, OSError)):
        alone.ask("GET", alone.workspace)
    assert alone.ask("GET", alone.workspace)[0] == 200


def test_a_body_breaks_off_where_a_fault_says_so(alone: Served) -> None:
    alone.ask("POST", "/mlctl/faults", {"trouble": "truncate", "bytes": 10})
    with pytest.raises(http.client.IncompleteRead) as broken:
        alone.ask("GET", alone.workspace)
    assert len(broken.value.partial) == 10


def test_a_head_has_no_body_and_the_length_of_one(served: Served) -> None:
    with served.connection() as over:
        over.request("HEAD", f"{served.workspace}?{VERSION}")
        response = over.getresponse()
        assert int(response.headers["content-length"]) > 100
        assert response.read() == b""


def test_garbage_on_the_wire_is_no_end(served: Served) -> None:
    with served.connection() as over:
        over.connect()
        over.sock.sendall(b"\x00\xff garbage\r\n\r\n")
        response = http.client.HTTPResponse(over.sock)
        response.begin()
        assert (response.status, json.load(response)["error"]["code"]) == (400, "BadRequest")
    assert served.ask("GET", served.workspace)[0] == 200


@pytest.mark.slow
def test_everything_is_recorded_but_secrets(tmp_path: Path) -> None:
    file = tmp_path / "record.jsonl"
    account = {"adminUserName": "me", "adminUserPassword": "s3cret"}
    cluster = {"computeType": "AmlCompute", "properties": {"userAccountCredentials": account}}
    with serving(tmp_path, "--record", str(file)) as found:
        path = f"{found.workspace}/computes/cpu"
        bearer = {"authorization": "Bearer t0ken"}
        found.ask("PUT", path, {**CLUSTER, "properties": cluster}, headers=bearer)
        found.stop()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(each["method"], each["path"], each["status"]) for each in lines] == [
        ("PUT", path, 201)
    ]
    assert "me" in file.read_text()
    assert not {"s3cret", "t0ken"} & set(file.read_text().replace('"', " ").split())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_plain_http_needs_no_certificate(tmp_path: Path, emulator: Emulator) -> None:
    with serving(tmp_path, "--http") as found:
        assert found.told["ca_file"] is None
        assert found.ask("GET", found.workspace)[0] == 200
        assert "REQUESTS_CA_BUNDLE" not in exported(emulator(tmp_path, "env"))


def test_a_token_is_asked_for_and_exported(tmp_path: Path, emulator: Emulator) -> None:
    with serving(tmp_path, "--token", "s3cret") as found:
        bearer = {"authorization": "Bearer s3cret"}
        assert found.ask("GET", found.workspace)[0] == 401
        assert found.ask("GET", found.workspace, headers=bearer)[0] == 200
        assert exported(emulator(tmp_path, "env"))["IDENTITY_HEADER"] == "s3cret"


@pytest.mark.slow
def test_a_token_is_read_from_a_variable_and_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    bearer = {"authorization": "Bearer s3cret"}
    for flags, variable in ((("--token", "@token"), ""), ((), "s3cret"), ((), "@token")):
        with serving(tmp_path, *flags, MLCTL_EMULATOR_TOKEN=variable) as found:
            assert found.ask("GET", found.workspace)[0] == 401
            assert found.ask("GET", found.workspace, headers=bearer)[0] == 200


def test_a_file_without_a_token_is_refused(tmp_path: Path, emulator: Emulator) -> None:
    pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
    (tmp_path / "empty").write_text("\n")
    for name, why in (("empty", "is empty"), ("none", "No such file")):
        ended = emulator(tmp_path, "start", "--token", f"@{name}")
        assert (ended.code, why in ended.err) == (2, True)


def test_the_style_comes_from_the_environment(tmp_path: Path) -> None:
    with serving(tmp_path, MLCTL_EMULATOR_LRO="sync") as found:
        body = found.ask("PUT", f"{found.workspace}/computes/cpu", CLUSTER)[1]
        assert body["properties"]["provisioningState"] == "Succeeded"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_the_world_is_not_let_in_without_a_token(
    tmp_path: Path, host: str, emulator: Emulator
) -> None:
    pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
    ended = emulator(tmp_path, "start", "--host", host)
    assert ended.code != 0
    assert "--token" in ended.err


def test_an_address_that_is_taken_is_said_to_be(served: Served, tmp_path: Path) -> None:
    port = str(served.told["url"]).rpartition(":")[2]
    ended = refused(tmp_path, "--port", port)
    assert ended.code != 0
    assert "--port 0" in ended.err


@pytest.mark.parametrize("pace", ["x0", "fast", "x-1", "xnan", "5", ""])
def test_a_pace_that_is_none_is_refused(tmp_path: Path, pace: str, emulator: Emulator) -> None:
    pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
    ended = emulator(tmp_path, "start", "--time", pace)
    assert ended.code == 2
    assert "xN" in ended.err


def test_a_state_that_is_none_of_ours_is_refused(tmp_path: Path, emulator: Emulator) -> None:
    (tmp_path / "other.db").write_text("hello, world, this is no database at all" * 20)
    pytest.importorskip("uvicorn", reason="the emulator extra is not installed")
    ended = emulator(tmp_path, "start", "--db", "other.db")
    assert ended.code != 0
    assert "other.db" in ended.err


def memory(served: Served) -> int:
    """The most memory that the process ever had, in kB."""
    status = Path(f"/proc/{served.process.pid}/status")
    if not status.exists():
        pytest.skip("this system does not tell a process's memory")
    lines = status.read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


@pytest.mark.slow
def test_ten_thousand_resources_take_less_than_200_mb(tmp_path: Path) -> None:
    scope = Scope("sub", "rg", "ws")
    local = LocalBackend(tmp_path / "local.db", scope)
    for number in range(10_000):
        local.put(Address("model", f"m{number}", None, "1"), MODEL)
    local.close()
    with serving(tmp_path, "--http", "--db", "local.db") as found, found.connection() as over:
        path = f"{scope.id}/models?{VERSION}"
        names = []
        while path:
            _, page = found.ask("GET", path, over=over)
            names += [each["name"] for each in page["value"]]
            path = page.get("nextLink", "").removeprefix(found.told["url"])
        assert (len(set(names)), memory(found) < 200 * 1024) == (10_000, True)

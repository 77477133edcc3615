"""Builders: the REST APIs of GitHub, Azure DevOps and GitLab, as far as pipelines of mlctl ask."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

PAGE = 100


class Refused(Exception):
    """The API says no, with a status."""

    def __init__(self, status: int) -> None:
        self.status = status


class Fake(Protocol):
    """One API; a list is served page by page, bytes from storage that wants no token."""

    url: str
    token: str

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any) -> Any:
        """What a request is answered with."""


@contextmanager
def serving(fake: Fake) -> Iterator[None]:
    """The API on a port of this machine, of which `fake.url` tells."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._do("GET")

        def do_POST(self) -> None:
            self._do("POST")

        def do_PATCH(self) -> None:
            self._do("PATCH")

        def do_PUT(self) -> None:
            self._do("PUT")

        def log_message(self, *_: object) -> None:  # silent
            pass

        def _do(self, method: str) -> None:
            asked = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(asked.query).items()}
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            given = self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or ""
            if asked.path.startswith("/storage/"):
                self._send(400 if given else 200, storage[asked.path])
                return
            if not given.endswith(fake.token):
                self._send(401, {"message": "Bad credentials"})
                return
            try:
                body = json.loads(content) if content else None
                found = fake.answer(method, asked.path, query, body)
            except Refused as error:
                self._send(error.status, {"message": "no"})
                return
            if isinstance(found, bytes):
                place = f"/storage/{len(storage)}"
                storage[place] = found
                self._send(302, None, Location=fake.url + place)
            elif isinstance(found, list):
                number = int(query.get("page", 1))
                link = f"{fake.url}{asked.path}?{asked.query}&page={number + 1}"
                more = {"Link": f'<{link}>; rel="next"'} if len(found) > number * PAGE else {}
                self._send(200, found[(number - 1) * PAGE : number * PAGE], **more)
            else:
                self._send(201 if method == "POST" else 200, found)

        def _send(self, status: int, found: Any, **headers: str) -> None:
            content = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    storage: dict[str, bytes] = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def packed(folder: Path) -> bytes:
    """The files of a folder as an archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return made.getvalue()


class GitHub:
    """A repository with one pull request, in which others have said much."""

    token = "github-token"
    url = ""

    def __init__(self) -> None:
        self.writable = True
        self.comments: list[dict[str, Any]] = []
        self.issues: list[dict[str, Any]] = []
        self.artifacts: list[dict[str, Any]] = []
        self.pull_request: dict[str, Any] = {
            "number": 7,
            "head": {"sha": "head"},
            "merged_at": "2026-11-20T10:00:00Z",
            "merge_commit_sha": "merge",
        }

    def said(self, body: str, *, bot: bool = False) -> dict[str, Any]:
        """A comment or an issue by somebody."""
        kind = "Bot" if bot else "User"
        number = len(self.comments) + len(self.issues) + 1
        ids = {"id": number, "number": number, "state": "open"}
        return {**ids, "body": body, "user": {"type": kind}, "author_association": "NONE"}

    def upload(self, name: str, content: bytes, run: str, head: str, repository: int = 1) -> None:
        """Keep an artifact of a run."""
        number = len(self.artifacts)
        about = {"head_sha": head, "repository_id": 1, "head_repository_id": repository}
        self.artifacts.append(
            {
                "id": number,
                "name": name,
                "expired": False,
                "run": run,
                "content": content,
                "created_at": f"2026-11-20T10:{number:02}:00Z",
                "workflow_run": about,
            }
        )

    def answer(  # noqa: PLR0911, PLR0912  # a table of operations
        self, method: str, path: str, query: Mapping[str, str], body: Any
    ) -> Any:
        assert path.startswith("/repos/us/ml/"), path
        if method != "GET" and not self.writable:
            raise Refused(403)
        match method, path.removeprefix("/repos/us/ml/").split("/"):
            case "GET", ["issues", "7", "comments"]:
                return self.comments
            case "POST", ["issues", "7", "comments"]:
                if len(body["body"]) > 65_536:
                    raise Refused(422)
                self.comments.append(self.said(body["body"], bot=True))
            case "PATCH", ["issues", "comments", number]:
                _with_id(self.comments, number).update(body)
            case "GET", ["issues"]:
                return [one for one in self.issues if one["state"] == query["state"]]
            case "POST", ["issues"]:
                self.issues.append(self.said(body["body"], bot=True) | body)
            case "PATCH", ["issues", number]:
                _with_id(self.issues, number).update(body)
            case "POST", ["issues", _, "comments"]:
                pass
            case "GET", ["commits", sha, "pulls"]:
                return [self.pull_request] if sha == "merge" else []
            case "GET", ["actions", "runs", run, "artifacts"]:
                return {"artifacts": [one for one in self._named(query) if one["run"] == run]}
            case "GET", ["actions", "artifacts"]:
                return {"artifacts": self._named(query)}
            case "GET", ["actions", "artifacts", number, "zip"]:
                return self.artifacts[int(number)]["content"]
            case _:
                raise Refused(404)
        return {}

    def _named(self, query: Mapping[str, str]) -> list[dict[str, Any]]:
        fitting = [one for one in self.artifacts if one["name"] == query["name"]]
        return [{key: one[key] for key in one if key != "content"} for one in fitting]


def _with_id(every: Sequence[dict[str, Any]], number: str) -> dict[str, Any]:
    return next(one for one in every if str(one["id"]) == number)

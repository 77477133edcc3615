"""GitHub Actions: workflow commands, comments of pull requests, issues, artifacts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from api import Api
from host import NoPlan, unpack
from reports import cut

_INSIDERS = ("OWNER", "MEMBER", "COLLABORATOR")
_SUMMARY = 1_000_000  # bytes; GitHub takes 1 MiB


class GitHub:
    """What GitHub tells a step in its variables, and its REST API."""

    findings = "github"
    findings_file: Path | None = None
    counts_file: Path | None = None
    longest = 65_000  # of 65 536, with the marker
    again = 'Run the workflow by hand ("Run workflow"): it plans anew, and applies once approved.'

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._of = variables
        headers = {
            "Authorization": f"Bearer {variables.get('GITHUB_TOKEN', '')}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        base = variables.get("GITHUB_API_URL", "https://api.github.com")
        need = "permissions: pull-requests: write; issues: write for drift; actions: read to apply"
        self._api = Api(base, headers, need)
        self._repository = f"/repos/{variables['GITHUB_REPOSITORY']}"
        event = Path(variables.get("GITHUB_EVENT_PATH", "absent"))
        self._event: Any = json.loads(event.read_text(encoding="utf-8")) if event.is_file() else {}

    @property
    def commit(self) -> str:
        pull_request = self._event.get("pull_request")
        return str(pull_request["head"]["sha"] if pull_request else self._of["GITHUB_SHA"])

    @property
    def run_url(self) -> str:
        of = self._of
        server, run = of.get("GITHUB_SERVER_URL", "https://github.com"), of["GITHUB_RUN_ID"]
        return f"{server}/{of['GITHUB_REPOSITORY']}/actions/runs/{run}"

    def summarize(self, text: str) -> None:
        _append(self._of["GITHUB_STEP_SUMMARY"], cut(text, _SUMMARY, "") + "\n")

    def output(self, name: str, value: str) -> None:
        _append(self._of["GITHUB_OUTPUT"], f"{name}={value}\n")

    def warn(self, text: str) -> None:
        escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        print(f"::warning::{escaped}", flush=True)

    @property
    def pull_request(self) -> int | None:
        found = self._event.get("pull_request")
        return int(found["number"]) if found else None

    def merged(self) -> int | None:
        found = self._merged()
        return int(found["number"]) if found else None

    def comment(self, pull_request: int, marker: str, text: str) -> None:
        comments = f"{self._repository}/issues/{pull_request}/comments"
        body = {"body": f"{marker}\n{text}"}
        for one in self._api.pages(f"{comments}?per_page=100"):
            if _ours(one, marker):
                self._api.ask("PATCH", f"{self._repository}/issues/comments/{one['id']}", body)
                return
        self._api.ask("POST", comments, body)

    def issue(self, marker: str, title: str, text: str | None) -> None:
        issues = f"{self._repository}/issues"
        found = next(
            (
                f"{issues}/{one['number']}"
                for one in self._api.pages(f"{issues}?state=open&per_page=100")
                if _ours(one, marker) and "pull_request" not in one
            ),
            None,
        )
        if text is not None:
            fields = {"title": title, "body": f"{marker}\n{text}"}
            self._api.ask("PATCH" if found else "POST", found or issues, fields)
        elif found:
            remark = f"No drift any more, says [this run]({self.run_url})."
            self._api.ask("POST", f"{found}/comments", {"body": remark})
            self._api.ask("PATCH", found, {"state": "closed", "state_reason": "completed"})

    def fetch_plan(self, name: str, folder: Path) -> None:
        run = f"{self._repository}/actions/runs/{self._of['GITHUB_RUN_ID']}/artifacts"
        found = self._newest(f"{run}?name={quote(name)}", None)
        merged = self._event.get("pull_request") or self._merged()
        if found is None and merged is not None:
            every = f"{self._repository}/actions/artifacts?name={quote(name)}&per_page=100"
            found = self._newest(every, merged["head"]["sha"])
        if found is None:
            of = f"pull request #{merged['number']}" if merged else "a merged pull request"
            raise NoPlan(f"no plan `{name}` of {of} was kept. {self.again}")
        archive = f"{self._repository}/actions/artifacts/{found['id']}/zip"
        unpack(self._api.download(archive), folder)

    def _newest(self, path: str, head: str | None) -> Any:
        """The newest artifact of a list; `head`: made here, by a run of that very commit.

        So nobody can leave a plan for a commit that others review later, or from a fork.
        """
        fitting = []
        for one in self._api.ask("GET", path)["artifacts"]:
            run = one["workflow_run"]
            same = head is None or (
                run["head_sha"] == head and run["head_repository_id"] == run["repository_id"]
            )
            if same and not one["expired"]:
                fitting.append(one)
        return max(fitting, key=lambda one: str(one["created_at"]), default=None)

    def _merged(self) -> Any:
        """The pull request whose merge made the commit that this run is of."""
        sha = self._of["GITHUB_SHA"]
        for one in self._api.pages(f"{self._repository}/commits/{sha}/pulls?per_page=100"):
            if one["merged_at"] and one["merge_commit_sha"] == sha:
                return one
        return None


def _ours(one: Any, marker: str) -> bool:
    """Whether a comment or an issue is that of the marker, and no stranger's who copied it."""
    insider = one["user"]["type"] == "Bot" or one["author_association"] in _INSIDERS
    return insider and str(one["body"] or "").startswith(marker)


def _append(path: str, text: str) -> None:
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(text)

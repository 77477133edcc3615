"""Azure Pipelines: logging commands, threads of pull requests in Azure Repos, work items."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from api import Api
from host import NoPlan, unpack

_VERSION = "api-version=7.1"
_TAG = "mlctl-drift"  # work items are found by tag and title; their text may be edited


class AzureDevOps:
    """What Azure Pipelines tells a step in its variables, and the REST API of Azure DevOps."""

    findings = "azure-pipelines"
    findings_file: Path | None = None
    counts_file: Path | None = None
    longest = 140_000  # of 150 000, with the marker
    again = "Run the pipeline by hand on this branch: it plans anew, and applies once approved."

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._of = variables
        self._collection = variables["SYSTEM_COLLECTIONURI"].rstrip("/")
        headers = {"Authorization": f"Bearer {variables.get('SYSTEM_ACCESSTOKEN', '')}"}
        need = (
            "the build service needs `Contribute to pull requests`, and `Edit work items` for drift"
        )
        base = f"{self._collection}/{quote(variables['SYSTEM_TEAMPROJECT'])}/_apis"
        self._api = Api(base, headers, need, files=("visualstudio.com", "dev.azure.com"))
        self._repository = f"/git/repositories/{variables['BUILD_REPOSITORY_ID']}"

    @property
    def commit(self) -> str:
        of = self._of
        return of.get("SYSTEM_PULLREQUEST_SOURCECOMMITID") or of["BUILD_SOURCEVERSION"]

    @property
    def run_url(self) -> str:
        project = quote(self._of["SYSTEM_TEAMPROJECT"])
        build = self._of["BUILD_BUILDID"]
        return f"{self._collection}/{project}/_build/results?buildId={build}"

    def summarize(self, text: str) -> None:
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            suffix=".md",
            dir=self._of.get("AGENT_TEMPDIRECTORY"),
            delete=False,
        ) as file:  # the agent reads it when the step has ended
            file.write(text)
        print(f"##vso[task.uploadsummary]{file.name}", flush=True)

    def output(self, name: str, value: str) -> None:
        print(f"##vso[task.setvariable variable={name};isOutput=true]{value}", flush=True)

    def warn(self, text: str) -> None:
        line = " ".join(text.replace("%", "%AZP25").split())
        print(f"##vso[task.logissue type=warning]{line}", flush=True)

    @property
    def pull_request(self) -> int | None:
        number = self._of.get("SYSTEM_PULLREQUEST_PULLREQUESTID")
        return int(number) if number else None

    def merged(self) -> int | None:
        found = self._merged()
        return int(found["pullRequestId"]) if found else None

    def comment(self, pull_request: int, marker: str, text: str) -> None:
        threads = f"{self._repository}/pullRequests/{pull_request}/threads"
        content = f"{marker}\n{text}"
        for thread in self._api.ask("GET", f"{threads}?{_VERSION}")["value"]:
            first = next(iter(thread.get("comments") or ()), None)
            if first and str(first.get("content") or "").startswith(marker):
                place = f"{threads}/{thread['id']}/comments/{first['id']}?{_VERSION}"
                self._api.ask("PATCH", place, {"content": content})
                return
        # A closed thread holds no merge up where all comments have to be resolved.
        comments = [{"parentCommentId": 0, "content": content, "commentType": "text"}]
        new = {"comments": comments, "status": "closed"}
        self._api.ask("POST", f"{threads}?{_VERSION}", new)

    def issue(self, marker: str, title: str, text: str | None) -> None:
        found = self._open_item(title)
        if text is not None:
            fields = {
                "System.Title": title,
                "System.Tags": _TAG,
                "System.Description": f"{marker}\n{text}",
            }
            patch = [_set(f"/fields/{name}", value) for name, value in fields.items()]
            patch.append(_set("/multilineFieldsFormat/System.Description", "Markdown"))
            verb, place = ("PATCH", str(found)) if found else ("POST", "$Task")
            self._api.ask(verb, f"/wit/workitems/{place}?{_VERSION}", patch)
        elif found:
            patch = [
                _set("/fields/System.State", self._done()),
                _set("/fields/System.History", f"No drift any more: {self.run_url}"),
            ]
            self._api.ask("PATCH", f"/wit/workitems/{found}?{_VERSION}", patch)

    def fetch_plan(self, name: str, folder: Path) -> None:
        build = self._of["BUILD_BUILDID"]
        merged = None
        archive = self._archive(build, name)
        if archive is None and (merged := self._merged()):
            head = merged["lastMergeSourceCommit"]["commitId"]
            query = (
                f"definitions={self._of['SYSTEM_DEFINITIONID']}&reasonFilter=pullRequest"
                f"&branchName=refs/pull/{merged['pullRequestId']}/merge"
                f"&queryOrder=queueTimeDescending&{_VERSION}"
            )
            for one in self._api.ask("GET", f"/build/builds?{query}")["value"]:
                if one["triggerInfo"].get("pr.sourceSha") == head and archive is None:
                    archive = self._archive(one["id"], name)
        if archive is None:
            number = f"pull request {merged['pullRequestId']}" if merged else "a merged one"
            raise NoPlan(f"no plan `{name}` of {number} was kept. {self.again}")
        unpack(self._api.download(archive), folder)

    def _archive(self, build: object, name: str) -> str | None:
        """Where the archive of an artifact is."""
        found = self._api.ask("GET", f"/build/builds/{build}/artifacts?{_VERSION}")["value"]
        return next(
            (str(one["resource"]["downloadUrl"]) for one in found if one["name"] == name), None
        )

    def _merged(self) -> Any:
        sha = self._of["BUILD_SOURCEVERSION"]
        query = {"queries": [{"type": "lastMergeCommit", "items": [sha]}]}
        place = f"{self._repository}/pullrequestquery?{_VERSION}"
        for result in self._api.ask("POST", place, query)["results"]:
            for one in result.get(sha, ()):
                if one["status"] == "completed":
                    return one
        return None

    def _open_item(self, title: str) -> int | None:
        words = title.replace("'", "''")
        query = (
            "SELECT [System.Id] FROM WorkItems WHERE [System.TeamProject] = @project"
            f" AND [System.Tags] CONTAINS '{_TAG}' AND [System.Title] = '{words}'"
            f" AND [System.State] <> '{self._done()}' ORDER BY [System.Id]"
        )
        found = self._api.ask("POST", f"/wit/wiql?{_VERSION}", {"query": query})["workItems"]
        return int(found[0]["id"]) if found else None

    def _done(self) -> str:
        """The name of the state in which a task is done: each process has its own."""
        states = self._api.ask("GET", f"/wit/workitemtypes/Task/states?{_VERSION}")["value"]
        return next(str(one["name"]) for one in states if one["category"] == "Completed")


def _set(path: str, value: str) -> dict[str, str]:
    return {"op": "add", "path": path, "value": value}

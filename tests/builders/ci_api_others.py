"""Builders: the REST APIs of Azure DevOps and GitLab, as far as pipelines of mlctl ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.builders.ci_api import Refused


class AzureDevOps:
    """A project with one pull request; work items have the states of the process Agile."""

    token = "azure-token"
    url = ""

    def __init__(self) -> None:
        self.threads: list[dict[str, Any]] = []
        self.items: list[dict[str, str]] = []
        self.builds: dict[str, dict[str, bytes]] = {}
        self.heads: dict[str, str] = {}

    def answer(  # noqa: PLR0911  # a table of operations
        self, method: str, path: str, query: Mapping[str, str], body: Any
    ) -> Any:
        assert query.get("api-version") == "7.1" or "archives" in path
        match method, path.removeprefix("/us/ml/_apis/").split("/"):
            case "GET", ["git", "repositories", "r", "pullRequests", "7", "threads"]:
                return {"value": self.threads}
            case "POST", ["git", "repositories", "r", "pullRequests", "7", "threads"]:
                comments = [{"id": 1, **one} for one in body["comments"]]
                self.threads.append({"id": len(self.threads), "comments": comments})
            case "PATCH", ["git", *_, "7", "threads", number, "comments", "1"]:
                self.threads[int(number)]["comments"][0].update(body)
            case "POST", ["git", "repositories", "r", "pullrequestquery"]:
                one = {"pullRequestId": 7, "status": "completed"}
                merged = {**one, "lastMergeSourceCommit": {"commitId": "head"}}
                return {"results": [{"merge": [merged]}]}
            case "GET", ["build", "builds"]:
                found = [
                    {"id": build, "triggerInfo": {"pr.sourceSha": head}}
                    for build, head in self.heads.items()
                ]
                return {"value": found}
            case "GET", ["build", "builds", build, "artifacts"]:
                places = {name: f"archives/{build}/{name}" for name in self.builds.get(build, {})}
                found = [
                    {"name": name, "resource": {"downloadUrl": f"{self.url}/us/ml/_apis/{place}"}}
                    for name, place in places.items()
                ]
                return {"value": found}
            case "GET", ["archives", build, name]:
                return self.builds[build][name]
            case _:
                return self._work_item(method, path.removeprefix("/us/ml/_apis/wit/"), body)
        return {}

    def _work_item(self, method: str, path: str, body: Any) -> Any:
        if path == "workitemtypes/Task/states":
            states = {"New": "Proposed", "Closed": "Completed"}
            return {"value": [{"name": key, "category": one} for key, one in states.items()]}
        if path == "wiql":
            found = [
                {"id": number}
                for number, one in enumerate(self.items, 1)
                if f"'{one['/fields/System.Title']}'" in body["query"]
                and one.get("/fields/System.State") != "Closed"
            ]
            return {"workItems": found}
        fields = {one["path"]: one["value"] for one in body}
        if (method, path) == ("POST", "workitems/$Task"):
            self.items.append(fields)
        else:
            assert method == "PATCH"
            self.items[int(path.removeprefix("workitems/")) - 1].update(fields)
        return {}


class GitLab:
    """A project with one merge request."""

    token = "gitlab-token"
    url = ""

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []
        self.issues: list[dict[str, Any]] = []
        self.jobs: dict[str, bytes] = {}

    def answer(  # noqa: PLR0911, PLR0912  # a table of operations
        self, method: str, path: str, query: Mapping[str, str], body: Any
    ) -> Any:
        match method, path.removeprefix("/projects/3/").split("/"):
            case "GET", ["", "user"]:
                return {"id": 1}
            case "GET", ["merge_requests", "7", "notes"]:
                return self.notes
            case "POST", ["merge_requests", "7", "notes"]:
                self.notes.append({"id": len(self.notes), "author": {"id": 1}, **body})
            case "PUT", ["merge_requests", "7", "notes", number]:
                self.notes[int(number)].update(body)
            case "GET", ["issues"]:
                return [one for one in self.issues if one["state"] == query["state"]]
            case "POST", ["issues"]:
                self.issues.append({"iid": len(self.issues), "state": "opened", **body})
            case "PUT", ["issues", number]:
                closed = {"state": "closed"} if body.get("state_event") == "close" else {}
                self.issues[int(number)].update({**body, **closed})
            case "POST", ["issues", _, "notes"]:
                pass
            case "GET", ["repository", "commits", "merge", "merge_requests"]:
                return [{"iid": 7, "state": "merged", "sha": "head"}]
            case "GET", ["repository", "commits", "train"]:
                return {"parent_ids": ["base", "head"]}
            case "GET", ["merge_requests", "7", "pipelines"]:
                return [{"id": 12, "sha": "gone"}, {"id": 11, "sha": "train"}]
            case "GET", ["pipelines", pipeline, "jobs"]:
                return (
                    [{"id": int(pipeline), "name": "mlctl plan"}] if pipeline in self.jobs else []
                )
            case "GET", ["jobs", job, "artifacts"]:
                return self.jobs[job]
            case _:
                raise Refused(404)
        return {}

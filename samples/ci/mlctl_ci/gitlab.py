"""GitLab CI: notes of merge requests, issues, reports, artifacts of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from api import Api, ApiError
from host import NoPlan, unpack


class GitLab:
    """What GitLab tells a job in its variables, and its REST API."""

    findings = "gitlab"
    findings_file: Path | None = Path("gl-code-quality-report.json")
    counts_file: Path | None = Path("gl-terraform-report.json")
    longest = 500_000  # of 1 000 000, which nobody reads
    again = (
        'Run the pipeline by hand ("New pipeline"): it plans anew, and "mlctl apply" applies it.'
    )

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._of = variables
        # The job's own token may neither write notes nor issues.
        headers = {"PRIVATE-TOKEN": variables.get("MLCTL_GITLAB_TOKEN", "")}
        need = "MLCTL_GITLAB_TOKEN: a project access token, Developer, with the scope `api`"
        self._api = Api(variables["CI_API_V4_URL"], headers, need)
        self._project = f"/projects/{variables['CI_PROJECT_ID']}"

    @property
    def commit(self) -> str:
        return self._of.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or self._of["CI_COMMIT_SHA"]

    @property
    def run_url(self) -> str:
        return self._of["CI_JOB_URL"]

    def summarize(self, text: str) -> None:
        print(text, flush=True)

    def output(self, name: str, value: str) -> None:
        """A report of kind `dotenv` takes it to later jobs."""
        with Path("mlctl.env").open("a", encoding="utf-8") as file:
            file.write(f"MLCTL_CI_{name.upper()}={value}\n")

    def warn(self, text: str) -> None:
        print(f"WARNING: {text}", flush=True)

    @property
    def pull_request(self) -> int | None:
        number = self._of.get("CI_MERGE_REQUEST_IID")
        return int(number) if number else None

    def merged(self) -> int | None:
        found = self._merged()
        return int(found["iid"]) if found else None

    def comment(self, pull_request: int, marker: str, text: str) -> None:
        notes = f"{self._project}/merge_requests/{pull_request}/notes"
        me, body = self._me(), {"body": f"{marker}\n{text}"}
        for one in self._api.pages(f"{notes}?per_page=100"):
            if one["author"]["id"] == me and str(one["body"]).startswith(marker):
                self._api.ask("PUT", f"{notes}/{one['id']}", body)
                return
        self._api.ask("POST", notes, body)

    def issue(self, marker: str, title: str, text: str | None) -> None:
        issues = f"{self._project}/issues"
        mine = f"{issues}?state=opened&author_id={self._me()}&per_page=100"
        found = next(
            (
                f"{issues}/{one['iid']}"
                for one in self._api.pages(mine)
                if str(one["description"] or "").startswith(marker)
            ),
            None,
        )
        if text is not None:
            fields = {"title": title, "description": f"{marker}\n{text}"}
            self._api.ask("PUT" if found else "POST", found or issues, fields)
        elif found:
            remark = f"No drift any more, says [this job]({self.run_url})."
            self._api.ask("POST", f"{found}/notes", {"body": remark})
            self._api.ask("PUT", found, {"state_event": "close"})

    def fetch_plan(self, name: str, folder: Path) -> None:
        merged = None
        job = self._planned_by(self._of["CI_PIPELINE_ID"])
        if job is None and (merged := self._merged()):
            job = self._plan_job(merged)
        if job is None:
            of = f"merge request !{merged['iid']}" if merged else "a merged merge request"
            raise NoPlan(f"no plan `{name}` of {of} was kept. {self.again}")
        unpack(self._api.download(f"{self._project}/jobs/{job}/artifacts"), folder)

    def _plan_job(self, merged: Any) -> int | None:
        """The job that planned the very commit that was merged, in its newest pipeline."""
        pipelines = f"{self._project}/merge_requests/{merged['iid']}/pipelines?per_page=100"
        for pipeline in self._api.pages(pipelines):
            if self._is_of(pipeline["sha"], merged["sha"]):
                job = self._planned_by(pipeline["id"])
                if job is not None:
                    return job
        return None

    def _planned_by(self, pipeline: object) -> int | None:
        """The job of a pipeline that planned."""
        jobs = f"{self._project}/pipelines/{pipeline}/jobs?per_page=100&scope=success"
        wanted = self._of.get("MLCTL_CI_PLAN_JOB", "mlctl plan")
        return next(
            (int(one["id"]) for one in self._api.pages(jobs) if one["name"] == wanted), None
        )

    def _is_of(self, sha: str, head: str) -> bool:
        """Whether a pipeline's commit is the head of a merge request, or merges it."""
        if sha == head:
            return True
        try:
            found = self._api.ask("GET", f"{self._project}/repository/commits/{quote(sha)}")
        except ApiError:  # such commits are removed in time
            return False
        return head in found["parent_ids"]

    def _merged(self) -> Any:
        sha = self._of["CI_COMMIT_SHA"]
        path = f"{self._project}/repository/commits/{sha}/merge_requests?per_page=100"
        return next((one for one in self._api.pages(path) if one["state"] == "merged"), None)

    def _me(self) -> Any:
        return self._api.ask("GET", "/user")["id"]

"""mlctl in a pipeline: `python3 mlctl_ci validate | plan | apply | drift`.

The same for GitHub, Azure Pipelines and GitLab; it needs nothing but Python and mlctl. Variables:
`MLCTL_CI_PATH` (one path a line), `MLCTL_CI_ARGS` (more arguments, quoted as in a shell),
`MLCTL_CI_FOLDER` (where plans are put), `MLCTL_ENV`, and what mlctl and the host set themselves.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import reports
from api import ApiError
from azure_devops import AzureDevOps
from github import GitHub
from gitlab import GitLab
from host import Host, NoPlan
from process import run

OK, CHANGES, STALE, STOPPED, LOCKED = 0, 2, 4, 8, 10
_PREFIX = "mlctl-plan-"
_PATIENCE = ("--lock-timeout", "10m")  # while another run applies the same project


@dataclass(frozen=True)
class Job:
    """What to work on, and where."""

    paths: list[str]
    args: list[str]
    env: str
    kept: Path

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Job:
        """The job that the variables describe."""
        lines = variables.get("MLCTL_CI_PATH", "").splitlines()
        return cls(
            paths=[line.strip() for line in lines if line.strip()] or ["."],
            args=shlex.split(variables.get("MLCTL_CI_ARGS", "")),
            env=variables.get("MLCTL_ENV", "").strip(),
            kept=Path(variables.get("MLCTL_CI_FOLDER", ".mlctl-ci")),
        )

    @property
    def folder(self) -> Path:
        """Where plan and report of this job are."""
        return self.kept / self.name

    @property
    def name(self) -> str:
        """Paths and environment as one word: the name of the artifact.

        Where the word leaves something out, as of `infra/a`, a hash tells it from `infra-a`.
        """
        meant = [*self.paths, self.env] if self.env else self.paths
        words = re.sub(r"[^A-Za-z0-9]+", "-", " ".join(meant)).strip("-")
        if words != "-".join(meant) or len(meant) > 1:
            digest = hashlib.sha256("\n".join([*self.paths, "", self.env]).encode()).hexdigest()
            words = f"{words}-{digest[:8]}".lstrip("-")
        return f"{_PREFIX}{words}"

    def marker(self, what: str) -> str:
        """A comment of HTML by which a comment or an issue is found again: of these paths alone."""
        return f"<!-- mlctl {what} {self.name.removeprefix(_PREFIX)} -->"

    @property
    def plan(self) -> Path:
        """The plan file; mlctl fills in `{env}` where there are several environments."""
        return self.folder / ("plan-{env}.json" if self.several else "plan.json")

    @property
    def several(self) -> bool:
        """Whether it is about several environments."""
        return self.env == "all" or "," in self.env


def validate(job: Job, host: Host) -> int:
    """Findings at their lines."""
    command = ["validate", *job.paths, *job.args]
    if host.findings_file is None:
        return run([*command, "-o", host.findings]).code
    run([*command, "-o", host.findings], into=host.findings_file)
    return run(command).code


def plan(job: Job, host: Host) -> int:
    """Save the plan, and show it in the one comment of the pull request."""
    job.folder.mkdir(parents=True, exist_ok=True)
    shown = job.folder / "plan.md"
    flags = ["--out", str(job.plan), "--detailed-exitcode", "-o", "markdown"]
    done = run(["plan", *job.paths, *job.args, *flags], into=shown)
    text = shown.read_text(encoding="utf-8").strip()
    text = text or reports.failure("mlctl plan: failed", done.told)
    fine = done.code in (OK, CHANGES)
    host.summarize(text)
    host.output("changes", "true" if done.code == CHANGES else "false")
    if fine and host.counts_file is not None:
        host.counts_file.write_text(reports.counts(job.folder.glob("plan*.json")), encoding="utf-8")
    if fine:
        host.output("artifact", job.name)
        host.output("folder", str(job.folder))
    promise = "Merging applies exactly this plan." if fine else "It cannot be applied."
    note = f"Plan of {host.commit[:8]}, [whole]({host.run_url}). {promise}"
    if host.pull_request is not None:
        text = reports.cut(text, host.longest, note)
        host.comment(host.pull_request, job.marker("plan"), text)
    return OK if fine else done.code


def apply(job: Job, host: Host) -> int:
    """Carry out exactly the plan that was reviewed, and say on the pull request what came of it."""
    shutil.rmtree(job.folder, ignore_errors=True)  # no plan but the one that was reviewed
    host.fetch_plan(job.name, job.folder)
    in_order = ["--in-order"] if job.several else []
    done = run(["apply", str(job.plan), *job.paths, *in_order, *_PATIENCE, *job.args])
    title = f"mlctl apply: {_word(done.code)}"
    text = reports.failure(title, done.told)
    if job.several:
        title = "mlctl apply: done" if done.code == OK else "mlctl apply: not done everywhere"
        each = "\n".join(reports.environments(done.told, _word))
        text = f"### {title}\n\n{each}\n\n{reports.folded(done.told)}"
    if done.code != OK and job.several:
        text += f"\n\nWhat is left: {host.again}"
    elif done.code == STALE:
        text += f"\n\nNothing was overwritten. {host.again}"
    elif done.code != OK:
        text += f"\n\nWhat is left: {host.again}"
    host.summarize(text)
    note = f"[The run]({host.run_url})."
    try:
        number = host.pull_request or host.merged()
        if number is not None:
            text = reports.cut(text, host.longest, note)
            host.comment(number, job.marker("apply"), text)
    except ApiError as error:  # the apply counts, not what is told of it
        host.warn(str(error))
    if done.code == STALE and not job.several:
        host.warn(f"{title}: nothing was overwritten. {host.again}")
    return done.code


def _word(code: int) -> str:
    """What an exit code of apply says."""
    words = {
        OK: "done",
        STALE: "the workspace has changed since the plan was made",
        STOPPED: "stopped",
        LOCKED: "another apply of the project is running, or took its lease",
    }
    return words.get(code, f"failed (exit code {code})")


def drift(job: Job, host: Host) -> int:
    """Open, update or close the one issue that says what changed outside."""
    job.folder.mkdir(parents=True, exist_ok=True)
    shown = job.folder / "drift.md"
    flags = ["--detailed-exitcode", "-o", "markdown"]
    done = run(["drift", *job.paths, *job.args, *flags], into=shown)
    if done.code not in (OK, CHANGES):
        return done.code
    text = shown.read_text(encoding="utf-8").strip()
    host.summarize(text)
    host.output("changes", "true" if done.code == CHANGES else "false")
    where = " ".join([*job.paths, *([f"({job.env})"] if job.env else [])])
    body = reports.cut(text, host.longest, f"Seen by [this run]({host.run_url}).")
    host.issue(job.marker("drift"), f"Drift: {where}", body if done.code == CHANGES else None)
    return OK


COMMANDS: Mapping[str, Callable[[Job, Host], int]] = {
    "validate": validate,
    "plan": plan,
    "apply": apply,
    "drift": drift,
}
HOSTS: Mapping[str, Callable[[Mapping[str, str]], Host]] = {
    "GITHUB_ACTIONS": GitHub,
    "TF_BUILD": AzureDevOps,
    "GITLAB_CI": GitLab,
}


def main() -> int:
    """Run the command that is named; its exit code, of which 2 (changes) becomes 0."""
    words = sys.argv[1:]
    if len(words) != 1 or words[0] not in COMMANDS:
        print(f"usage: python3 mlctl_ci {' | '.join(COMMANDS)}", file=sys.stderr)
        return 1
    hosts = [made for name, made in HOSTS.items() if os.environ.get(name, "").lower() == "true"]
    if not hosts:
        print(f"No pipeline: none of {', '.join(HOSTS)} is true.", file=sys.stderr)
        return 1
    try:
        job, host = Job.of(os.environ), hosts[0](os.environ)
    except ValueError as error:
        print(f"ERROR: MLCTL_CI_ARGS cannot be read: {error}", file=sys.stderr)
        return 1
    except KeyError as error:
        print(f"ERROR: the variable {error} is not set, as the host would", file=sys.stderr)
        return 1
    try:
        return COMMANDS[words[0]](job, host)
    except (ApiError, NoPlan) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

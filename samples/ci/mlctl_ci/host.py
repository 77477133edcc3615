"""What a pipeline's host is asked for."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Protocol


class NoPlan(Exception):
    """No plan was kept for what is to be applied; the message says what to do."""


class Host(Protocol):
    """GitHub, Azure Pipelines or GitLab."""

    findings: str  # the output format of `mlctl validate` that this host shows at its lines
    findings_file: Path | None  # where it looks for them; None: in the log
    counts_file: Path | None  # where it looks for how much a plan changes
    longest: int  # bytes of a comment
    again: str  # how a plan is made anew and applied

    @property
    def commit(self) -> str:
        """What is planned or applied."""

    @property
    def run_url(self) -> str:
        """Where the run, its summary and its artifacts are."""

    def summarize(self, text: str) -> None:
        """Show Markdown with the run."""

    def output(self, name: str, value: str) -> None:
        """Set a value for the steps that follow."""

    def warn(self, text: str) -> None:
        """Show a warning with the run."""

    @property
    def pull_request(self) -> int | None:
        """The number of the pull request that this run is of."""

    def merged(self) -> int | None:
        """The number of the pull request whose merge made the commit that this run is of."""

    def comment(self, pull_request: int, marker: str, text: str) -> None:
        """Write the one comment of a pull request that begins with `marker`, or edit it.

        Raises:
            ApiError: the host refuses.
        """

    def issue(self, marker: str, title: str, text: str | None) -> None:
        """Open the one issue that begins with `marker`, edit it, or close it (no text).

        Raises:
            ApiError: the host refuses.
        """

    def fetch_plan(self, name: str, folder: Path) -> None:
        """Bring the plan of this run, or else of the pull request that was merged.

        Raises:
            NoPlan: there is none.
            ApiError: the host refuses.
        """


def unpack(archive: bytes, folder: Path) -> None:
    """Write the plans of an archive to a folder, wherever in it they are."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(BytesIO(archive)) as packed:
            for name in packed.namelist():
                file = PurePosixPath(name).name
                if file.startswith("plan") and file.endswith(".json"):
                    (folder / file).write_bytes(packed.read(name))
    except zipfile.BadZipFile as error:
        raise NoPlan(f"the artifact of the plan cannot be read: {error}") from error

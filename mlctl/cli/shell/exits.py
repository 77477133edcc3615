"""The exit codes, all of them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum


class Exit(IntEnum):
    """The exit codes. az-style commands use 0 to 3 and 5; apply and destroy have 4 to 10."""

    OK = 0
    ERROR = 1
    USAGE = 2  # of az-style verbs; usage errors of validate, plan and apply are ERROR
    CHANGES = 2  # of plan --detailed-exitcode
    NOT_FOUND = 3
    STALE = 4
    REFUSED = 5
    REJECTED = 6
    PARTIAL = 7
    CANCELLED = 8
    TIMED_OUT = 9
    LOCKED = 10
    LATE = 11
    OVER_BUDGET = 12
    IMPOSSIBLE = 13
    BUG = 70


# The code, the verbs that end so, and what it says.
MEANINGS: tuple[tuple[Exit, str, str], ...] = (
    (
        Exit.OK,
        "all",
        "Success; for `validate`, all files are valid. A closed output pipe is not an error.",
    ),
    (
        Exit.ERROR,
        "all",
        "An error. For `validate` and the plan commands, this includes wrong usage.",
    ),
    (Exit.ERROR, "`fmt --check`", "A file is not formatted, or cannot be read."),
    (Exit.USAGE, "az-style", "Wrong usage: an unknown flag or an invalid value."),
    (
        Exit.CHANGES,
        "`plan`, `drift --detailed-exitcode`",
        "There are changes; 0 means none, 1 an error.",
    ),
    (Exit.NOT_FOUND, "az-style", "The resource does not exist."),
    (Exit.STALE, "`apply`", "The workspace has changed since the plan was made; plan again."),
    (
        Exit.REFUSED,
        "`plan`, `apply`, `destroy`, `delete`, `simulate`",
        "Refused by a policy, a protection, `--prune-limit`, `--max-cost` or `--deadline`.",
    ),
    (
        Exit.REJECTED,
        "`apply`, `destroy`",
        "The backend would reject the plan; nothing was changed.",
    ),
    (
        Exit.PARTIAL,
        "`apply`, `destroy`",
        "Some changes were made, and others failed or were not started.",
    ),
    (
        Exit.CANCELLED,
        "`apply`, `destroy`",
        "Stopped by Ctrl-C, SIGTERM or SIGHUP, or not approved.",
    ),
    (Exit.TIMED_OUT, "`apply`, `destroy`", "The backend exceeded the time limit."),
    (
        Exit.LOCKED,
        "`apply`, `destroy`, `import`",
        "Another apply of the project holds the lease, and nothing was changed; or the lease was"
        " lost during the apply, and the remaining steps are listed.",
    ),
    (Exit.CANCELLED, "`finish`", "Not started, cancelled, or left running after Ctrl-C."),
    (Exit.LOCKED, "`finish`", "Another controller of the job is running."),
    (Exit.LATE, "`finish`", "The job is done, but after its deadline."),
    (Exit.OVER_BUDGET, "`finish`", "Stopped before a step that would exceed `--max-cost`."),
    (Exit.IMPOSSIBLE, "`finish`", "Gave up after identical failures (`--give-up-after`)."),
    (Exit.BUG, "all", "A bug in mlctl. `--debug` shows the traceback."),
)
_HEAD = """\
# Exit codes

<!-- Generated from mlctl/cli/shell/exits.py; `make docs` writes it. -->

mlctl has two sets of exit codes, and each command uses one of them. The az-style commands
(`compute`, `batch-endpoint`, `batch-deployment`, `model`, `environment` and the other groups) use
az's codes. `validate`, `fmt`, `plan`, `apply` and `destroy` use Terraform's codes, so that 2 only
ever means that there are changes.

| code | commands | meaning |
|---|---|---|
"""
_TAIL = """
A second Ctrl-C, SIGTERM or SIGHUP kills the process at once, so the shell shows 130, 143 or 129.
Under `nohup`, SIGHUP is ignored.

If the service does not answer a step of an apply after all retries, no new steps are started. The
remaining ones are listed as not started, and the code is 7, or 1 if nothing was changed. Changes
that could not be read back count as made, and are listed as not verified.
"""


def page() -> str:
    """`docs/exit-codes.md`."""
    return _HEAD + "".join(_rows()) + _TAIL


def _rows() -> Iterator[str]:
    for code, verbs, meaning in MEANINGS:
        yield f"| {code.value} | {verbs} | {meaning} |\n"

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
    (Exit.OK, "all", "Done; of `validate`: valid. A reader that has had enough is no error."),
    (Exit.ERROR, "all", "An error. Of `validate` and the plan family, wrong usage is one too."),
    (Exit.ERROR, "`fmt --check`", "A file is not in canonical layout, or cannot be read."),
    (Exit.USAGE, "az-style", "Wrong usage: an unknown flag, a value that is none."),
    (
        Exit.CHANGES,
        "`plan`, `drift --detailed-exitcode`",
        "There are changes; 0 is none, 1 an error.",
    ),
    (Exit.NOT_FOUND, "az-style", "There is no such resource."),
    (Exit.STALE, "`apply`", "The world has moved since the plan was made; a new plan is needed."),
    (
        Exit.REFUSED,
        "`plan`, `apply`, `destroy`, `delete`, `simulate`",
        "Refused by a policy, a protection, `--prune-limit`, `--max-cost` or `--deadline`.",
    ),
    (Exit.REJECTED, "`apply`, `destroy`", "The backend would reject the plan; nothing was begun."),
    (
        Exit.PARTIAL,
        "`apply`, `destroy`",
        "Something was done, and something failed or was not started.",
    ),
    (
        Exit.CANCELLED,
        "`apply`, `destroy`",
        "Stopped by Ctrl-C, SIGTERM or SIGHUP, or not approved.",
    ),
    (Exit.TIMED_OUT, "`apply`, `destroy`", "The backend took longer than it was given."),
    (
        Exit.LOCKED,
        "`apply`, `destroy`, `import`",
        "Another apply of the project holds the lease, and nothing was begun; or it was lost on the"
        " way, and what is left is listed.",
    ),
    (Exit.CANCELLED, "`finish`", "Not begun, cancelled, or left running after Ctrl-C."),
    (Exit.LOCKED, "`finish`", "Another controller of the job is at work."),
    (Exit.LATE, "`finish`", "The job is done, but after its deadline."),
    (Exit.OVER_BUDGET, "`finish`", "Stopped before a step that would pass `--max-cost`."),
    (Exit.IMPOSSIBLE, "`finish`", "Given up after equal failures (`--give-up-after`)."),
    (Exit.BUG, "all", "A bug in mlctl. `--debug` shows the traceback."),
)
_HEAD = """\
# Exit codes

<!-- Generated from mlctl/cli/shell/exits.py; `make docs` writes it. -->

Two dialects, never mixed within one verb. The az-style verbs (`compute`, `batch-endpoint`,
`batch-deployment`, `model`, `environment` and the other groups) end as az does. `validate`, `fmt`,
`plan`, `apply` and `destroy` end as Terraform does, so that 2 means one thing only: there are
changes.

| code | verbs | meaning |
|---|---|---|
"""
_TAIL = """
A second Ctrl-C, SIGTERM or SIGHUP ends the process at once, by that signal: shells show 130, 143 or
129. Under `nohup`, SIGHUP is ignored.

Once the service has left a step of an apply without an answer as often as it is asked, nothing new
is started. The rest is listed as not started, and the code is 7, or 1 where nothing was done. What
was written and could not be read back counts as done, and is listed as not verified.
"""


def page() -> str:
    """`docs/exit-codes.md`."""
    return _HEAD + "".join(_rows()) + _TAIL


def _rows() -> Iterator[str]:
    for code, verbs, meaning in MEANINGS:
        yield f"| {code.value} | {verbs} | {meaning} |\n"

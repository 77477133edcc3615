"""Start the command of a job, once for each of its processes: `command.py FILE`.

FILE has, as JSON, the `words` of the command, `memory`, `alone`, `parent`, and for each process its
`folder`, `variables` and `log`.
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__)))))

from mlctl.rehearsal.worker import node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def become(process: dict[str, Any], words: list[str]) -> NoReturn:
    """Replace this process by the command."""
    os.chdir(process["folder"])
    log = os.open(process["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for number in (1, 2):
        os.dup2(log, number)
    os.execve(words[0], words, process["variables"])  # noqa: S606 - the words are those of a shell


def main() -> None:
    """Exit like the command; if there are several, like the first that fails."""
    with open(sys.argv[1], encoding="utf-8") as file:
        order = json.load(file)
    node.go_on_in_child(order["parent"])
    if order["alone"]:
        node.loopback_up()
    node.bound_memory(order["memory"])
    processes, words = order["processes"], order["words"]
    if len(processes) == 1:
        become(processes[0], words)
    pid = os.getpid()
    for process in processes:
        if os.fork() == 0:
            node.die_with_parent(pid)
            become(process, words)
    for _ in processes:
        status = os.wait()[1]
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        if code:  # the others wait for it, and are killed with the group
            os._exit(code)


if __name__ == "__main__":
    main()

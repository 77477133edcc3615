"""Start a worker: `start.py KIND CONTROL REPORT SCRIPT CODE MEMORY ALONE PARENT [ARGUMENT ...]`.

KIND is `scorer`, which is watched, or `server`. CONTROL and REPORT are descriptors of pipes with
one JSON object per line.
"""

from __future__ import annotations

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))
if _HERE in sys.path:  # the script cannot import from this folder
    sys.path.remove(_HERE)
sys.path.insert(0, _ROOT)

from mlctl.rehearsal.worker import node  # noqa: E402
from mlctl.rehearsal.worker.pipes import Pipes  # noqa: E402

sys.path.remove(_ROOT)


def main() -> None:
    kind, control, report, script, code, limit, alone, parent = sys.argv[1:9]
    sys.argv = [script, *sys.argv[9:]]
    if kind == "server":
        from mlctl.rehearsal.worker.server import Server

        node.die_with_parent(int(parent))
        node.adopt_orphans()
    else:
        from mlctl.rehearsal.worker.scorer import Scorer

        node.go_on_in_child(int(parent))
    if alone == "1":
        node.loopback_up()
    node.bound_memory(int(limit))
    pipes = Pipes(int(control), int(report))
    (Server(pipes, script) if kind == "server" else Scorer(pipes, script, code)).serve()


if __name__ == "__main__":
    main()

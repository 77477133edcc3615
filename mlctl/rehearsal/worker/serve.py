"""Start a server of a scoring script: `serve.py`, with the arguments of `start.py`."""

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
from mlctl.rehearsal.worker.server import Server  # noqa: E402

sys.path.remove(_ROOT)


def main() -> None:
    control, report, script, _code, limit, _alone, parent = sys.argv[1:8]
    sys.argv = [script, *sys.argv[8:]]
    node.die_with_parent(int(parent))
    node.adopt_orphans()
    node.bound_memory(int(limit))
    Server(Pipes(int(control), int(report)), script).serve()


if __name__ == "__main__":
    main()

"""Start a worker: `start.py CONTROL REPORT SCRIPT CODE MEMORY ALONE PARENT [ARGUMENT ...]`.

CONTROL and REPORT are descriptors of pipes with a JSON object a line.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(_HERE)))
_PR_SET_PDEATHSIG = 1
if _HERE in sys.path:  # the script finds nothing of this folder
    sys.path.remove(_HERE)
sys.path.insert(0, _ROOT)

from mlctl.rehearsal.worker.pipes import Pipes  # noqa: E402
from mlctl.rehearsal.worker.scorer import Scorer  # noqa: E402

sys.path.remove(_ROOT)


def die_with_parent() -> None:
    """Ask Linux to end this process when the one that rehearses is gone."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        return


def loopback_up() -> None:
    """In a network of its own, let the loopback work as on a node."""
    import fcntl
    import socket
    import struct

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            name = struct.pack("16sh", b"lo", 1)  # IFF_UP
            fcntl.ioctl(one, 0x8914, name + b"\0" * 14)  # SIOCSIFFLAGS
    except OSError:
        return


def main() -> None:
    control, report, script, code, most, alone, parent = sys.argv[1:8]
    sys.argv = [script, *sys.argv[8:]]
    die_with_parent()
    if os.getppid() != int(parent):
        os._exit(0)
    if alone == "1":
        loopback_up()
    if int(most):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        bound = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))
    Scorer(Pipes(int(control), int(report)), script, code).serve()


if __name__ == "__main__":
    main()

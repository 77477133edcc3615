"""What a rehearsal has begun is found by its ancestry, whatever it made of itself."""

from __future__ import annotations

import os
import subprocess
import sys

from mlctl.rehearsal.process import swept
from mlctl.rehearsal.worker.node import running_below
from tests.builders import rehearsed

LEAVES = """\
import os, subprocess, sys
text = "print(1, flush=True); import time; time.sleep(60)"
child = subprocess.Popen(
    [sys.executable, "-c", text],
    env={}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
)
child.stdout.readline()
print(child.pid, flush=True)
"""


def test_what_a_process_that_is_gone_has_left_is_ended_and_nothing_else() -> None:
    others = running_below(os.getpid())
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as earlier:
        with swept("mark"):
            done = subprocess.run(
                [sys.executable, "-c", LEAVES], capture_output=True, text=True, check=True
            )
            left = int(done.stdout)
            assert left in running_below(os.getpid())
        rehearsed.wait_for(left)
        assert running_below(os.getpid()) - others == {earlier.pid}
        earlier.communicate(b"\n")

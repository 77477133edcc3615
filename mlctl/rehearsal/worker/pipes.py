"""Messages to and from a worker: lines of JSON through two pipes."""

from __future__ import annotations

import json
import os
import signal

TYPE_CHECKING = False  # workers start often, so imports are kept few
if TYPE_CHECKING:
    from typing import Any, NoReturn


class Pipes:
    """Lines of JSON to and from the process that rehearses."""

    def __init__(self, control: int, report: int) -> None:
        for descriptor in (control, report):
            os.set_inheritable(descriptor, False)  # noqa: FBT003
        self.control = os.fdopen(control, "rb")
        self.report = report
        self.owner = os.getpid()
        self.forever = False
        self.sending = False

    def send(self, **message: Any) -> None:
        if os.getpid() != self.owner:
            return
        data = (json.dumps(message) + "\n").encode()
        self.sending = True
        while data:
            data = data[os.write(self.report, data) :]
        self.sending = False

    def hold(self, place: list[Any] | None) -> None:
        """Stop here, to be killed; a forked child continues, since it ends with its parent."""
        if os.getpid() == self.owner:
            self.send(held=place)
            self.wait_for_ever()

    def wait_for_ever(self) -> NoReturn:
        if not self.control.read():
            while self.forever:
                signal.pause()
        os._exit(0)  # the rehearsal has ended

"""Builders: what stands between a client and the emulator, and disturbs at the nth request."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from mlctl.emulator import Request, Response
from mlctl.simulator.control_plane import control
from mlctl.simulator.control_plane.state.workspace import WorkspaceHandle
from tests.builders.azure import ManualClock, Service, no

_ENDPOINT = re.compile(r"/batchEndpoints/[^/]+$")
_PASSING = "systemData"


class Killed(BaseException):
    """The process ends here."""


@dataclass
class CloudClock(ManualClock):
    """Time passes in the cloud while somebody waits."""

    handle: WorkspaceHandle | None = None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.handle is not None:
            control.wait(self.handle, seconds)


@dataclass(eq=False)
class Disturbed:
    """A service that gives endpoints etags, and at whose nth request something happens.

    The client is killed (before the request is sent, or `late`, once it was carried out), or
    `others` write. The dead send nothing.
    """

    service: Service
    nth: int = 0
    late: bool = False
    others: Callable[[], object] | None = None
    method: str = ""  # those that count; any unless given
    number: int = 0
    dead: bool = False

    def disturb(
        self,
        nth: int,
        *,
        late: bool = False,
        others: Callable[[], object] | None = None,
        method: str = "",
    ) -> None:
        """Count requests (of a method) anew, and let this happen at the nth (0: nothing)."""
        self.nth, self.late, self.others, self.method = nth, late, others, method
        self.number, self.dead = 0, False

    def __call__(self, request: Request) -> Response:
        counts = self.method in ("", request.method)
        self.number += counts
        strikes = counts and self.number == self.nth
        if strikes and self.others is not None:
            self.others()
        dies = strikes and self.others is None
        self.dead = self.dead or (dies and not self.late)
        if self.dead:
            raise Killed
        answer = self._answer(request)
        if dies:
            self.dead = True
            raise Killed
        return answer

    def _answer(self, request: Request) -> Response:
        if not _ENDPOINT.search(request.path):
            return self.service(request)
        condition = request.header("if-match")
        if condition and condition != _tag(self._live(request)):
            return no(412, "PreconditionFailed")
        answer = self.service(request)
        if request.method == "GET" and answer.status == 200:
            return replace(answer, headers={**answer.headers, "etag": _tag(answer)})
        return answer

    def _live(self, request: Request) -> Response:
        return self.service(replace(request, method="GET", body=b""))


def _tag(response: Response) -> str:
    body = json.loads(response.body or b"{}")
    body.pop(_PASSING, None)
    return '"' + hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:8] + '"'

"""The pages of the studio: `Site` is a function from `Request` to `Response`.

Every path begins with the token: without it nobody can read or change anything, and no cookie is
sent to other servers of this machine. Jinja escapes all text of people and services.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mlctl.durations import elapsed
from mlctl.emulator.http.messages import Request, Response, json_response
from mlctl.pointer import Data
from mlctl.render.page import html as page_parts
from mlctl.render.page import svg
from mlctl.render.terminal.terminal import clean, clean_lines
from mlctl.service_errors import NotFound, ServiceError
from mlctl.simulator.control_plane import control
from mlctl.studio import actions, views
from mlctl.studio.watch import MOST_EVENTS, SPEEDS, Watch

_HERE = Path(__file__).parent
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_BEAT_S, _QUIET_S = 0.25, 15.0  # of the stream: how often it looks, and when it says it lives
_LEAST_S = 1.0  # of the stream: between two changes
_FEW = 12  # events of the overview
_PLAN_S = 5.0  # how long a plan of the same files is shown

# The part of the navigation that a page is in, if it has another name.
_SECTIONS = {
    "overview": "",
    "cluster": "clusters",
    "job": "jobs",
    "forecast": "jobs",
    "outputs": "jobs",
    "logs": "endpoints",
    "events": "happened",
}

Query = Mapping[str, str]
Made = tuple[str, str, Mapping[str, object]]  # a template, a title, and the values
Maker = Callable[[list[str], Query], Made]


class Site:
    """The studio of one workspace; `plan` returns the plan of its folder as text, if it has one."""

    def __init__(
        self, watch: Watch, token: str, plan: Callable[[], Mapping[str, object]] | None = None
    ) -> None:
        self._watch = watch
        self._token = token
        self._make_plan = plan
        self._plan: tuple[object, float, Mapping[str, object]] | None = None
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_inert,
        )
        self._templates.filters |= {
            "usd": lambda usd: "unknown" if usd is None else f"${usd:,.2f}",
            "elapsed": lambda seconds: "" if seconds is None else elapsed(seconds),
            "lines": lambda text: Markup("{}").format(clean_lines(str(text))),
            "path": lambda name: quote(str(name), safe=""),
            "percent": lambda share: f"{100 * share:.0f} %",
        }

    def __call__(self, request: Request) -> Response:
        """Answer a request."""
        _, token, *parts = request.path.split("?")[0].split("/")
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            text = "This address is incomplete: open the one that `mlctl studio` printed."
            return _text(text, 403)
        names = [unquote(part) for part in parts] or [""]
        try:
            if request.method == "POST":
                return self._post(names, request)
            if request.method not in ("GET", "HEAD"):
                return _text("The studio answers GET and POST.", 405)
            return self._get(names, request.query)
        except ServiceError as error:
            status, message = error.status, error.message
        except Exception as error:  # noqa: BLE001 - - one bad request must not end the server
            status, message = 500, f"this is a bug in mlctl: {type(error).__name__}: {error}"
        page = self._page("error", "Error", {"message": message}, query={})
        return Response(status, page.headers, page.body)

    def _get(self, names: list[str], query: Query) -> Response:
        if names[0] == "static":
            return _static(names[-1])
        if names == ["events"]:
            headers = {**_HEADERS, "content-type": "text/event-stream"}
            return Response(200, headers, stream=self._stream())
        if names[0] == "data":
            return self._data(names[1:], query)
        make = self._pages().get((names[0], len(names)))
        if make is None:
            raise NotFound("NoPage", "There is no such page.", status=404)
        return self._page(*make(names[1:], query), query)

    def _pages(self) -> Mapping[tuple[str, int], Maker]:
        """Return the maker of each page, by the first name of its path and the number of names."""
        watch, backend = self._watch, self._watch.backend

        def listed(page: str, values: Callable[[Query], object]) -> Maker:
            return lambda _, query: (page, page.capitalize(), {page: values(query)})

        pages: dict[tuple[str, int], Maker] = {
            ("", 1): self._overview,
            ("clusters", 1): listed(
                "clusters", lambda query: views.paginate(views.clusters(watch), query)
            ),
            ("clusters", 2): self._cluster,
            ("jobs", 1): listed("jobs", lambda query: views.jobs(watch, query)),
            ("jobs", 2): self._job,
            ("outputs", 2): self._outputs,
            ("endpoints", 1): listed("endpoints", lambda query: views.endpoints(backend, query)),
            ("endpoints", 4): self._logs,
        }
        if self._make_plan is not None:
            pages["plan", 1] = self._planned
        if self._watch.local is not None:
            pages["happened", 1] = lambda *_: (
                "events",
                "Events",
                {"lines": views.event_lines(watch, MOST_EVENTS)},
            )
            pages["cloud", 1] = self._cloud
            pages["forecasts", 2] = self._forecast
        return pages

    def _page(self, page: str, title: str, values: Mapping[str, object], query: Query) -> Response:
        """Return a page; with `part` in the query only its middle, which changes."""
        watch = self._watch
        whole = "part" not in query
        moment = control.status(watch.local.handle).moment if watch.local is not None else ""
        text = self._templates.get_template("shell.html" if whole else "part.html").render(
            {
                "base": f"/{self._token}/",
                "page": page,
                "title": title,
                "here": _SECTIONS.get(page, page),
                "query": {"q": "", "status": "", "weather": "", **query},
                "scope": watch.backend.scope,
                "backend": watch.backend.name,
                "simulated": watch.local is not None,
                "has_plan": self._make_plan is not None,
                "weathers": actions.weathers(),
                "states": views.STATES,
                "speeds": SPEEDS,
                "clock": moment[:19].replace("T", " "),
                "speed": watch.speed,
                "bill": views.bill(watch),
                **values,
            }
        )
        headers = {**_HEADERS, "content-type": "text/html; charset=utf-8"}
        return Response(200, headers, text.encode())

    def _overview(self, _names: list[str], _query: Query) -> Made:
        clusters = views.clusters(self._watch)
        simulated = self._watch.local is not None
        values = {
            "clusters": clusters,
            "counts": {
                state: sum(cluster["states"][state] for cluster in clusters)
                for state in views.STATES
            },
            "jobs": views.jobs(self._watch, {}),
            "endpoints": views.endpoints(self._watch.backend, {}),
            "lines": views.event_lines(self._watch, _FEW) if simulated else [],
        }
        return "overview", "Overview", values

    def _cluster(self, names: list[str], query: Query) -> Made:
        matching = [
            cluster for cluster in views.clusters(self._watch) if cluster["name"] == names[0]
        ]
        if not matching:
            raise NotFound("NoCluster", f"There is no cluster `{names[0]}`.", status=404)
        lanes = ""
        if self._watch.local is not None:
            now = control.now(self._watch.local.handle)
            start, drawn = self._watch.follow().lanes(names[0], now)
            ticks = [elapsed(start + (now - start) * share / 4) for share in range(5)]
            if drawn:
                lanes = svg.timeline(now - start, drawn, ticks) + page_parts.legend(drawn)
        nodes = views.paginate(views.nodes(self._watch.backend, names[0]), query)
        return "cluster", names[0], {"cluster": matching[0], "nodes": nodes, "lanes": lanes}

    def _job(self, names: list[str], query: Query) -> Made:
        job = views.job(self._watch, names[0], query)
        lines = views.job_lines(self._watch, names[0]) if self._watch.local is not None else []
        return "job", names[0], {"job": job, "lines": lines}

    def _outputs(self, names: list[str], _query: Query) -> Made:
        files = views.outputs(self._watch.backend, names[0])
        return "outputs", f"Outputs of {names[0]}", {"files": files, "name": names[0]}

    def _forecast(self, names: list[str], query: Query) -> Made:
        forecast = actions.forecast_beside(
            self._watch, names[0], query.get("weather") or actions.NOW
        )
        job = views.job(self._watch, names[0], {})
        values = {"forecast": forecast, "job": job, "now": actions.NOW}
        return "forecast", "Forecast", values

    def _logs(self, names: list[str], _query: Query) -> Made:
        endpoint, _, deployment = names
        text = views.logs(self._watch.backend, endpoint, deployment)
        return "logs", "Logs", {"text": text, "endpoint": endpoint, "deployment": deployment}

    def _planned(self, _names: list[str], _query: Query) -> Made:
        """Return the plan of the folder, refreshed after a file is saved, or after some seconds."""
        assert self._make_plan is not None
        now, version = time.monotonic(), self._watch.saved
        if self._plan is None or self._plan[0] != version or now > self._plan[1]:
            plan = self._make_plan()
            self._plan = version, time.monotonic() + _PLAN_S, plan
        return "plan", "Plan", {"plan": self._plan[2]}

    def _cloud(self, _names: list[str], _query: Query) -> Made:
        clusters = [cluster["name"] for cluster in views.clusters(self._watch)]
        cloud = views.weather(self._watch)
        values = {"cloud": cloud, "clusters": clusters, "choices": actions.CHOICES}
        return "cloud", "Faults and weather", values

    def _data(self, names: list[str], query: Query) -> Response:
        match names:
            case ["nodes"]:
                data: Data = views.series(self._watch, query.get("cluster", ""))
            case ["bill"]:
                points = self._watch.follow().bill
                spent = [row[0] for row in points.rows]
                data = {"names": ["USD"], "data": [points.times, spent]}
            case ["metrics", name]:
                logged = views.metric_points(self._watch, name)
                times, steps = [at for at, _ in logged], [step for _, step in logged]
                data = {"names": ["step"], "data": [times, steps]}
            case _:
                raise NotFound("NoPage", "There is no such data.", status=404)
        return json_response(data, headers=_HEADERS)

    def _post(self, names: list[str], request: Request) -> Response:
        """Carry out what a form requests; describe what was done."""
        fields = dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
        if len(names) != 2 or names[0] != "act":  # noqa: PLR2004 - act/NAME
            raise NotFound("NoAction", "There is no such action.", status=404)
        try:
            text = actions.carry_out(self._watch, names[1], fields)
        except ServiceError as error:
            return _text(clean(error.message), error.status)
        return _text(clean(text))

    async def _stream(self) -> AsyncGenerator[bytes, None]:
        """Send server-sent events: one for each change, but at most one a second."""
        watch = self._watch
        revision, silent_s, waited_s = 0, 0.0, _LEAST_S
        watch.listeners += 1
        try:
            while True:
                if watch.revision != revision and waited_s >= _LEAST_S:
                    revision, silent_s, waited_s = watch.revision, 0.0, 0.0
                    data = {"revision": revision, "says": clean(watch.says)}
                    yield f"event: change\ndata: {json.dumps(data)}\n\n".encode()
                elif silent_s >= _QUIET_S:
                    silent_s = 0.0
                    yield b": still here\n\n"
                else:
                    yield b""
                await asyncio.sleep(_BEAT_S)
                silent_s, waited_s = silent_s + _BEAT_S, waited_s + _BEAT_S
        finally:
            watch.listeners -= 1


def _inert(value: object) -> object:
    """Return text as one inert line; markup stays unchanged."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _text(text: str, status: int = 200) -> Response:
    headers = {**_HEADERS, "content-type": "text/plain; charset=utf-8"}
    return Response(status, headers, text.encode())


def _static(name: str) -> Response:
    """Return a file of `static`; the style of pages precedes that of the studio."""
    path = _HERE / "static" / name
    if Path(name).name != name or path.suffix not in _TYPES or not path.is_file():
        raise NotFound("NoFile", "There is no such file.", status=404)
    body = path.read_bytes()
    if name == "studio.css":
        body = page_parts.style().encode() + body
    caching = {
        "cache-control": "private, max-age=86400"
    }  # the token in the path is only valid for this run
    kind = {"content-type": f"{_TYPES[path.suffix]}; charset=utf-8"}
    return Response(200, {**_HEADERS, **caching, **kind}, body)

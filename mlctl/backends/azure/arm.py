"""A JSON client of Azure Resource Manager: one pipeline and one connection pool."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from ssl import SSLContext
from threading import Lock
from typing import Any, cast
from urllib.parse import quote, urlencode

import requests
from azure.core.pipeline import Pipeline
from azure.core.pipeline.policies import RequestIdPolicy, UserAgentPolicy
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest
from azure.mgmt.core import ARMPipelineClient
from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy
from azure.mgmt.core.polling.arm_polling import ARMPolling
from urllib3.util.ssl_ import create_urllib3_context

from mlctl.backends.azure import errors
from mlctl.backends.azure.links import SameHostPolicy, next_link, uses_tls
from mlctl.backends.azure.retry import Clock, PacePolicy, RetryPolicy
from mlctl.files import is_folder
from mlctl.kinds.facts import API_VERSION
from mlctl.pointer import Data
from mlctl.service_errors import NotFound
from mlctl.version import __version__

VERSION = API_VERSION  # of the machine learning provider, unless a kind needs another one
WORKERS = 16  # concurrent reads
_CONNECTIONS = 64  # kept open: apply may work on as many resources
_POLL = 5.0  # seconds between two polls of an operation, if the service does not say
_OK, _CREATED, _NO_CONTENT = 200, 201, 204
_WEAK = "W/"  # the prefix of an etag that no If-Match ever matches

logging.getLogger("azure").addHandler(logging.NullHandler())  # mlctl reports an error once


class ArmClient:
    """A client of one resource manager, with one credential. Methods only raise ServiceErrors.

    Paths begin with a slash; absolute URLs from answers (the next page) are used as they are.
    """

    def __init__(
        self,
        base: str,
        credential: Any,
        transport: Any = None,
        clock: Clock | None = None,
        *,
        audience: str | None = None,
    ) -> None:
        self.base = base.rstrip("/")
        self.clock = clock or Clock()
        self.credential = credential
        self.transport: Any = _ClockedTransport(transport or _pooled_transport(), self.clock)
        policies: Any = [
            RequestIdPolicy(),
            UserAgentPolicy(base_user_agent=f"mlctl/{__version__}"),
            PacePolicy(self.clock),
            RetryPolicy(self.clock),
            SameHostPolicy(self.base),
            ARMChallengeAuthenticationPolicy(credential, audience or f"{self.base}/.default"),
        ]
        self._pipeline: Any = Pipeline(cast("Any", self.transport), policies)  # quacks like one
        self._client: Any = ARMPipelineClient(self.base, policies=policies, pipeline=self._pipeline)
        self._options: dict[str, Any] = {} if uses_tls(self.base) else {"enforce_https": False}

    def at_host(self, base: str, audience: str) -> ArmClient:
        """Return a client with the same credential for another host, with tokens for `audience`."""
        return ArmClient(base, self.credential, self.transport, self.clock, audience=audience)

    def get(self, path: str, version: str = VERSION, **query: str) -> dict[str, Data]:
        """Return the object at a path, with the `etag` from its body or header.

        Raises:
            NotFound: it does not exist.
        """
        data, headers = self.send("GET", path, version, query)
        if not isinstance(data, dict):
            raise errors.malformed_response(f"the answer to GET {path} is not an object")
        etag = headers.get("etag")
        if etag and not etag.startswith(_WEAK):
            data.setdefault("etag", etag)
        return data

    def find(self, path: str, version: str = VERSION, **query: str) -> dict[str, Data] | None:
        """Return the object at a path; None if it does not exist."""
        try:
            return self.get(path, version, **query)
        except NotFound:
            return None

    def pages(self, path: str, version: str = VERSION, **query: str) -> Iterator[dict[str, Data]]:
        """Yield the objects of a list, page by page."""
        return self.pages_after(self.get(path, version, **query), path=path)

    def pages_after(
        self, body: dict[str, Data], key: str = "value", path: str = ""
    ) -> Iterator[dict[str, Data]]:
        """Yield the objects of a list, from its first page on.

        Raises:
            ServiceError: a page is invalid, or leads back to an earlier one.
        """
        read: set[str] = set()
        while True:
            yield from errors.objects(body.get(key), path or key)
            link = next_link(self.base, body)
            if link is None:
                return
            if link in read:
                raise errors.malformed_response(f"the pages of {path or key} are circular")
            read.add(link)
            body = self.get(link, "")

    def post(self, path: str, body: Data, version: str = VERSION) -> dict[str, Data]:
        """Return the answer to a POST that only reads, and so may be retried."""
        data, _ = self.send("POST", path, version, body=body, again=True)
        return data if isinstance(data, dict) else {}

    def date(self, path: str, version: str = VERSION) -> str | None:
        """Return the `Date` header of an answer: the server's clock."""
        _, headers = self.send("GET", path, version)
        return headers.get("date")

    def begin(
        self,
        method: str,
        path: str,
        body: Data = None,
        *,
        etag: str | None = None,
        version: str = VERSION,
        **query: str,
    ) -> AzureOperation:
        """Start a write; if the resource has an `etag`, only while that is current."""
        deadline = self.clock.deadline()
        with errors.sdk_errors_decoded():
            condition: dict[str, Any] = {"headers": {"If-Match": etag}} if etag else {}
            answer = self._run(method, path, version, query, body, deadline=deadline, **condition)
        errors.checked_json(answer.http_response)
        polling = ARMPolling(_POLL, deadline=deadline, **self._options)
        return AzureOperation(polling, self._client, answer, f"{method} {path}")

    def send(
        self,
        method: str,
        path: str,
        version: str,
        query: Mapping[str, str] | None = None,
        body: Data = None,
        *,
        again: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[Data, Mapping[str, str]]:
        """Return the JSON and the headers of an answer; `headers` are sent too."""
        options: dict[str, Any] = {"again": True} if again else {}
        options |= {"headers": headers} if headers else {}
        with errors.sdk_errors_decoded():
            answer = self._run(
                method, path, version, query or {}, body, deadline=self.clock.deadline(), **options
            )
        return errors.checked_json(answer.http_response), answer.http_response.headers

    def look(
        self, path: str, version: str, query: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, str], Data]:
        """Return status, headers and JSON (None: not JSON) of a GET, including refusals."""
        with errors.sdk_errors_decoded():
            answer = self._run(
                "GET", path, version, query or {}, None, deadline=self.clock.deadline()
            ).http_response
        return int(answer.status_code), answer.headers, errors.json_body(answer)

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

    def _run(
        self,
        method: str,
        path: str,
        version: str,
        query: Mapping[str, str],
        body: Data,
        **options: Any,
    ) -> Any:
        parameters = {**({"api-version": version} if version else {}), **query}
        url = path if "://" in path else self.base + path
        if parameters:
            url += f"{'&' if '?' in url else '?'}{urlencode(parameters, quote_via=quote, safe='$')}"
        headers = {"Accept": "application/json", **options.pop("headers", {})}
        request = HttpRequest(method, url, headers=headers, json=body)
        return self._pipeline.run(request, stream=False, **self._options, **options)


class AzureOperation:
    """A long-running operation of Azure."""

    def __init__(self, polling: Any, client: Any, answer: Any, description: str) -> None:
        self._polling = polling
        self._client = client
        self._answer = answer
        self._what = description

    @property
    def created(self) -> bool | None:
        """Whether the write created the resource: 201, rather than 200; other statuses do not say.

        A PUT over a cluster is 201, too, but its body shows a change after its creation.
        """
        answer = self._answer.http_response
        body = errors.checked_json(answer)
        properties = (body.get("properties") or {}) if isinstance(body, dict) else {}
        if answer.status_code == _CREATED and properties.get("modifiedOn") != properties.get(
            "createdOn"
        ):
            return False
        return {_OK: False, _CREATED: True}.get(answer.status_code)

    @property
    def about_nothing(self) -> bool:
        """Whether there was nothing to delete, which the resource manager answers with 204."""
        return bool(self._answer.http_response.status_code == _NO_CONTENT)

    @errors.answers_decoded()
    def wait(self) -> None:
        """Poll until it has ended, in any of ARM's four styles; then check the resource's state.

        Raises:
            ServiceError: it failed or was cancelled, or its resource says so.
        """
        with errors.sdk_errors_decoded():
            ended = self._polled()
        if ended is None:
            return
        data = errors.checked_json(ended.http_response)
        properties = data.get("properties") if isinstance(data, dict) else None
        state = str((properties or {}).get("provisioningState")).casefold()
        if state in ("failed", "canceled"):  # although the operation reports success
            raise errors.error_of(ended.http_response)

    def _polled(self) -> Any:
        """Return the last answer about the resource; None if there is none."""
        try:
            self._polling.initialize(self._client, self._answer, lambda answer: answer)
            self._polling.run()
            return self._polling.resource()
        except (AttributeError, TypeError):  # the SDK expects any JSON to be an object
            raise errors.malformed_response(f"{self._what} has an unexpected answer") from None


def fetch(url: str) -> Data:
    """Return the JSON of a URL that needs no token."""
    uses_tls(url)
    with open_public(Clock()) as fetch_next:
        return fetch_next(url)


@contextmanager
def open_public(clock: Clock, transport: Any = None) -> Iterator[Callable[[str], Data]]:
    """Yield a function like `fetch` for many URLs, on connections that stay open.

    The function raises a ServiceError if a URL cannot be read.
    """
    transport = transport or _pooled_transport()
    policies: Any = [UserAgentPolicy(base_user_agent=f"mlctl/{__version__}"), RetryPolicy(clock)]
    pipeline: Any = Pipeline(transport, policies)

    def fetch_next(url: str) -> Data:
        with errors.sdk_errors_decoded():
            answer = pipeline.run(HttpRequest("GET", url), stream=False, deadline=clock.deadline())
        return errors.checked_json(answer.http_response)

    try:
        yield fetch_next
    finally:
        transport.close()


def path_of(*parts: str) -> str:
    """Build a path of these segments, percent-encoded."""
    return "".join("/" + quote(part, safe="") for part in parts)


def _pooled_transport() -> Any:
    """Return a transport with a connection pool and the environment's proxies."""
    session = requests.Session()
    adapter = _SharedTrust(pool_maxsize=_CONNECTIONS, max_retries=0)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return RequestsTransport(session=session, connection_timeout=10, read_timeout=60)


class _SharedTrust(requests.adapters.HTTPAdapter):  # type: ignore[misc,unused-ignore]
    """Its connections share what they trust: to read the certificates for each takes 17 ms."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._lock = Lock()
        self._by_bundle: dict[str, SSLContext] = {}

    def build_connection_pool_key_attributes(
        self, request: Any, verify: Any, cert: Any = None
    ) -> Any:
        host, tls = super().build_connection_pool_key_attributes(request, verify, cert)
        if host["scheme"] == "https" and verify and not cert:
            bundle = requests.utils.DEFAULT_CA_BUNDLE_PATH if verify is True else verify
            context = self._trust(bundle)
            if context is not None:
                tls = {"ssl_context": context}
        return host, tls

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        super().cert_verify(conn, url, verify, cert)
        if "ssl_context" in conn.conn_kw:
            vars(conn).update(ca_certs=None, ca_cert_dir=None)  # they are in the context

    def _trust(self, bundle: str) -> SSLContext | None:
        """Return the context of a bundle; None if it cannot be read, which requests reports."""
        with self._lock:
            if bundle not in self._by_bundle:
                context: SSLContext = create_urllib3_context()
                place = {"capath" if is_folder(Path(bundle)) else "cafile": bundle}
                with suppress(OSError):
                    context.load_verify_locations(**place)
                    self._by_bundle[bundle] = context
            return self._by_bundle.get(bundle)


class _ClockedTransport:
    """A transport that sleeps by our clock: the SDK's poller waits through its transport."""

    def __init__(self, inner: Any, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock

    def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than an operation may take, whatever a `Retry-After` says."""
        self._clock.sleep(min(seconds, self._clock.limit))

    def send(self, request: Any, **options: Any) -> Any:
        return self._inner.send(request, **options)

    def open(self) -> None:
        self._inner.open()

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> _ClockedTransport:
        self._inner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._inner.__exit__(*error)

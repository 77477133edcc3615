"""A server that answers with what another one has answered, from memory: the least work there is.

    python -m bench.bare URL CERTIFICATE KEY    prints its own address

What it has not been asked before, it fetches from URL; the addresses in the answers are its own.
"""

from __future__ import annotations

import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

_PASSED_ON = ("Authorization", "Metadata", "X-IDENTITY-HEADER", "Accept")


class _Server(ThreadingHTTPServer):
    def __init__(self, origin: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.origin = origin
        self.known: dict[str, bytes] = {}
        self.url = f"https://127.0.0.1:{self.server_port}"

    def fetched(self, path: str, headers: dict[str, str]) -> bytes:
        """The body of an answer of the other server, with our address in it."""
        request = Request(self.origin + path, headers=headers)
        with urlopen(request, context=ssl._create_unverified_context()) as answer:  # noqa: SLF001  # both are ours
            body: bytes = answer.read()
        return body.replace(self.origin.encode(), self.url.encode())


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # a whole answer in one packet
    server: _Server

    def do_GET(self) -> None:
        known = self.server.known
        if self.path not in known:
            passed = {name: self.headers[name] for name in _PASSED_ON if name in self.headers}
            known[self.path] = self.server.fetched(self.path, passed)
        body = known[self.path]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main(origin: str, certificate: str, key: str) -> None:
    """Serve until killed."""
    server = _Server(origin)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.url, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])

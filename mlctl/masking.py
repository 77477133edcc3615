"""Find what looks like a secret, and mask it in text or data.

By its name: a variable `*_KEY`, `*_SECRET` or `*_TOKEN`, anything that ends in `password`. By its
shape: private keys, tokens of known services, the signature of a SAS, the keys of a connection
string, the password in a URL. Digests, GUIDs, ids of resources and placeholders are none. Masking
is for output: what is planned and written keeps its value.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Set

from mlctl.pointer import Data, Pointer

MASK = "***"
_SHORT = 6  # characters; a shorter secret is masked where it stands, but not wherever it occurs
_SHORTEST = 4  # characters of a variable of the environment, which is masked wherever it occurs

# Patterns are texts: `re` compiles and keeps them once something looks like a secret.
_VARIABLE = r"(?:[A-Z][A-Z0-9]*_)*(?:KEY|SECRET|TOKEN)"
_NAME = (
    r"(?:passw(?:or[dt]|d)|passphrase|secret|connection[_-]?string|credential"
    r"|(?:access|account|api|auth|shared|storage|private|subscription|encryption)[_-]?key"
    r"|(?:access|api|auth|bearer|refresh|sas|github|hf)[_-]?token)\Z"
)
_SHORT_NAME = r"(?i:(?:^|_)(?:PAT|PASS|PWD|SAS)\Z)"  # of a variable of the environment
# Variables so called that hold the names of columns, or the special tokens of a language model.
_HARMLESS = (
    r"(?:PRIMARY|PARTITION|SORT|FOREIGN|PUBLIC|ROW|JOIN|HASH|CACHE|INSTRUMENTATION)_?KEY"
    r"|(?:PAD|EOS|BOS|UNK|MASK|SEP|CLS|START|END|STOP)_TOKEN"
)
# A placeholder, an id of a resource, a path, a URL, a number, a GUID, a truth value.
_PLAIN = (
    r"\$.*|\{\{.*|#\{.*|<.*>|__\w+__|%\w+%|@Microsoft\.KeyVault\(.*|azureml:.*|\.{0,2}/[\w.-]+(?:/.*)?"
    r"|https?://.*|\*+|-?[\d.]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|true|false|yes|no|none|null|sha\d+:.*"
    r"|(?:[\w ]+=(?:\$|\{\{|<|#\{|https?://)[^;]*(?:;|$))+"  # a connection string of placeholders
)
_VALUE = r"(?P<{}>(?!\$|\{{|<|#\{{|%|\*\*\*)[^\s&\"'`;,<>\\]+)"
_SHAPES = "|".join(
    (
        r"(?P<pem>-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,20}PRIVATE"
        r" KEY-----|\Z))",
        r"(?P<jwt>(?<![\w-])eyJ[\w-]+\.[\w-]+\.?[\w-]*)",
        r"(?<![\w-])bearer\s+(?=[^\s\"',]{8})(?=[^\s\"',]*[\d.])" + _VALUE.format("bearer"),
        r"(?<![\w%])sig=" + _VALUE.format("sig"),
        r"(?:account_?key|shared_?access_?key|shared_?access_?signature|client_?secret"
        r"|password|(?<![a-z])pwd)=" + _VALUE.format("pair"),
        r"://[^\s/:@\"']*:" + _VALUE.format("url").replace(r"[^\s&", r"[^\s/@&") + "(?=@)",
        r"(?P<token>(?<![A-Za-z0-9])(?:gh[opsur]_\w{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}"
        r"|hf_[A-Za-z0-9]{30,}|sk-[\w-]{32,}|xox[abprs]-[\w-]{20,}|AIza[\w-]{35}|npm_\w{36}"
        r"|dapi[0-9a-f]{32}))",
        r"(?P<azure>(?<![A-Za-z0-9+/=-])[A-Za-z0-9+/]{86}==)",
        r"(?P<client>(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-]))",
        r"(?-i:_KEY|_SECRET|_TOKEN|PASSWORD)[\"']?[=:]\s?[\"']?" + _VALUE.format("variable"),
    )
)
_FLAGS = re.DOTALL | re.IGNORECASE
# What a text with one of the shapes has in it: most texts have nothing of the kind, and to look for
# plain words in a long one takes a hundredth of the time. All in lower case.
_HINTS = (
    "private key",
    "eyj",
    "bearer",
    "sig=",
    "key=",
    "signature=",
    "secret=",
    "password=",
    "pwd=",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat",
    "glpat",
    "hf_",
    "sk-",
    "xox",
    "aiza",
    "npm_",
    "dapi",
    "==",
    "q~",
    *(name + mark for name in ("_key", "_secret", "_token", "password") for mark in "\"'=:"),
)
# What a name of a secret has in it, and those of `_HINTS` with a space that may be a line's end.
_WORDS = (
    "passw",
    "passphrase",
    "secret",
    "connection",
    "credential",
    "key",
    "token",
    "private",
    "bearer",
)


class Secrets:
    """The secrets found in files and variables, which the service may echo."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._hidden: set[str] = set()

    @property
    def known(self) -> frozenset[str]:
        """Return the known secrets, except those too short or too plain to look for."""
        return frozenset(self._known)

    @property
    def hidden(self) -> frozenset[str]:
        """Return what output hides: the known secrets, and those from the environment."""
        return frozenset(self._known | self._hidden)

    def add_variable(self, name: str, value: str) -> None:
        """Hide the value of a variable of the environment; know it, if its name is a secret's."""
        if len(value) >= _SHORTEST:
            self._hidden.add(value)
        if len(value) >= _SHORT and (_is_secret_name(name) or re.search(_SHORT_NAME, name)):
            self._known.add(value)

    def add(self, secrets: Iterable[str]) -> None:
        """Add known secrets."""
        self._known.update(
            secret for secret in secrets if len(secret) >= _SHORT and not _is_plain(secret)
        )

    def clear(self) -> None:
        """Forget all secrets."""
        self._known.clear()
        self._hidden.clear()


# What the output of the command line hides wherever it stands: the secrets of the command that
# runs. Nothing but output asks it, and the library, which prints nothing, leaves it empty.
hidden = Secrets()


def names_secret(name: object, value: Data) -> bool:
    """Whether a value is a secret by the name of its key."""
    return (
        isinstance(value, str)
        and isinstance(name, str)
        and _is_secret_name(name)
        and value.strip() != ""
        and not _is_plain(value.strip())
    )


@functools.lru_cache(maxsize=4096)
def _is_secret_name(name: str) -> bool:
    """Whether a key is one of secrets; keys are few, and each is asked about often."""
    named = re.fullmatch(_VARIABLE, name) or re.search(_NAME, name, re.IGNORECASE)
    return bool(named) and not re.search(_HARMLESS, name)


def text_secrets(text: str, known: Set[str] = frozenset()) -> Iterator[str]:
    """Return the parts of a text that look like secrets by their shape, or are known."""
    for secret in known:
        if secret in text:
            yield secret
    if not _may_have_shape(text.casefold()):
        return
    for match in re.finditer(_SHAPES, text, _FLAGS):
        secret = match[match.lastgroup or 0]
        if not _is_plain(secret):
            yield secret


def find(
    data: Data, at: Pointer = (), known: Set[str] = frozenset()
) -> Iterator[tuple[Pointer, str]]:
    """Find the secrets in plain data: the pointer of the text, and the secret in it.

    Besides those that look like one, the `known` ones of elsewhere.
    """
    if isinstance(data, str):
        for secret in text_secrets(data, known):
            yield at, secret
    elif isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            if names_secret(key, value):
                yield (*at, key), value
            else:
                yield from find(value, (*at, key), known)


def places(data: Data) -> Iterable[Pointer]:
    """Return the pointers of the texts that are or hold secrets, each once."""
    return dict.fromkeys(at for at, _ in find(data))


def mask(text: str) -> str:
    """Replace by `***` what looks like a secret in `text`, and what output hides."""
    if hidden.hidden:
        for secret in sorted(hidden.hidden, key=len, reverse=True):
            if secret in text:
                text = text.replace(secret, MASK)
    if not _may_have_shape(text.casefold()):
        return text
    return re.sub(_SHAPES, _masked_shape, text, flags=_FLAGS)


def masked(data: Data, name: object = None, mark: str = MASK) -> Data:
    """Return plain data without secrets; `name` is its key, `mark` replaces a whole text."""
    match data:
        case dict():
            return {key: masked(value, key, mark) for key, value in data.items()}
        case list():
            return [masked(value, None, mark) for value in data]
        case str():
            return mark if names_secret(name, data) else mask(data)
        case _:
            return data


def may_hold_secrets(text: str) -> bool:
    """Whether a file may have secrets among its values, by its text: rather yes than no."""
    lowered = text.casefold()
    for word in _WORDS:  # a generator costs five times as much
        if word in lowered:
            return True
    return _has_hint(lowered)


def _has_hint(lowered: str) -> bool:
    for hint in _HINTS:
        if hint in lowered:
            return True
    return "://" in lowered and "@" in lowered


# The same few texts stand in every resource and in all that is said of it.
_may_have_shape = functools.lru_cache(maxsize=1024)(_has_hint)


def _is_plain(text: str) -> bool:
    return re.fullmatch(_PLAIN, text, _FLAGS) is not None


def _masked_shape(match: re.Match[str]) -> str:
    group = match.lastgroup or 0
    if _is_plain(match[group]):
        return match[0]
    start, end = (edge - match.start() for edge in match.span(group))
    return match[0][:start] + MASK + match[0][end:]

"""An exchange without what is its owner's: ids, names, people, keys, tokens and signatures.

What is written instead is the same within one story, so that what belongs together still does:
`{subscription}`, `{resourceGroup}`, `{workspace}` and the like; GUIDs by number; `REDACTED`.
"""

from __future__ import annotations

import re
from functools import partial
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from mlctl.masking import MASK, masked, names_secret
from mlctl.pointer import Data

REDACTED = "REDACTED"
# What names its owner's things in ids: the segment before the name, and what stands for the name.
_NAMED = (
    ("subscriptions", "{subscription}"),
    ("resourceGroups", "{resourceGroup}"),
    ("Microsoft.MachineLearningServices/workspaces", "{workspace}"),
    ("Microsoft.MachineLearningServices/registries", "{registry}"),
    ("Microsoft.Storage/storageAccounts", "{account}"),
    ("Microsoft.KeyVault/vaults", "{vault}"),
    ("Microsoft.Insights/components", "{insights}"),
    ("Microsoft.ContainerRegistry/registries", "{registry}"),
)
_IDS = [
    (re.compile(rf"/{re.escape(segment)}/([^/?\"'\s{{}}]+)", re.IGNORECASE), mark)
    for segment, mark in _NAMED
]
_HOSTS = [
    (re.compile(r"https?://([\w-]+)\.(?:blob|dfs|file|queue|table)\.core\."), "{account}"),
    (re.compile(r"https?://([\w-]+)\.vault\."), "{vault}"),
    (re.compile(r"https?://([\w-]+)\.azurecr\."), "{registry}"),
    (
        re.compile(r"\.blob\.core\.[\w.]+(?::\d+)?/(azureml-[\w-]+|azureml)(?=/|\?|$)"),
        "{container}",
    ),
]
_GUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(r"https?://[^\s\"'<>]+")
_SSH_KEY = re.compile(r"(ssh-\w+|ecdsa-[\w-]+) [A-Za-z0-9+/=]{16,}(?: \S+)?")
_PEOPLE = frozenset({"createdby", "lastmodifiedby", "username", "userid"})
_KEYS = re.compile(r"key|password|secret|sas|token|signature|credential", re.IGNORECASE)
_NO_KEYS = frozenset(
    {"hashversion", "secretstype", "credentialtype", "credentialstype", "keyvault"}
)
_QUERY = frozenset(  # of the queries of URLs in answers; everything else there is signed or secret
    {"api-version", "service", "wsid", "$top", "$orderby", "hash", "hashversion", "listviewtype"}
)


class Blotter:
    """Blots out one recording: what was met once is written the same way from then on."""

    def __init__(self) -> None:
        self._guids: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def learn(self, data: Data) -> None:
        """Remember the names of ids and hosts, which are blotted wherever they stand."""
        match data:
            case dict():
                for key, value in data.items():
                    self.learn(key)
                    self.learn(value)
            case list():
                for value in data:
                    self.learn(value)
            case str():
                for pattern, mark in (*_IDS, *_HOSTS):
                    for name in pattern.findall(data):
                        self._names.setdefault(name, mark)
            case _:
                pass

    def text(self, text: str) -> str:
        """The text, blotted."""
        text = _URL.sub(lambda match: _without_signature(match[0]), text)
        for pattern, mark in _IDS:
            text = pattern.sub(partial(_renamed, mark), text)
        for name, mark in sorted(self._names.items(), key=lambda pair: -len(pair[0])):
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", mark, text)
        text = _MAIL.sub("user@example.com", text)
        text = _SSH_KEY.sub(rf"\1 {REDACTED} user", text)
        text = _GUID.sub(lambda match: self._numbered(match[0]), text)
        return str(masked(text)).replace(MASK, REDACTED)

    def data(self, data: Data, name: str = "") -> Data:
        """Plain data, blotted; `name` is the key that it stands under."""
        match data:
            case dict():
                return {self.text(key): self.data(value, key) for key, value in data.items()}
            case list():
                return [self.data(value, name) for value in data]
            case str():
                return self._value(data, name)
            case _:
                return data

    def _value(self, text: str, name: str) -> str:
        folded = name.casefold()
        if not text:
            return text
        if folded == "accountname":
            self._names.setdefault(text, "{account}")
        if folded in _PEOPLE:
            return "user"
        if names_secret(name, text):
            return REDACTED
        if _KEYS.search(name) and folded not in _NO_KEYS and not text.startswith(("ssh-", "{")):
            return REDACTED
        return self.text(text)

    def _numbered(self, guid: str) -> str:
        number = self._guids.setdefault(guid.casefold(), str(len(self._guids) + 1))
        return f"00000000-0000-0000-0000-{number:>012}"


def _renamed(mark: str, match: re.Match[str]) -> str:
    return match[0][: match.start(1) - match.start()] + mark


def _without_signature(url: str) -> str:
    parts = urlsplit(url)
    pairs = [
        f"{name}={quote(value, safe='{}$:/')}"
        for name, value in parse_qsl(parts.query)
        if name.casefold() in _QUERY
    ]
    return urlunsplit(parts._replace(query="&".join(pairs)))

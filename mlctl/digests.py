"""Hashes and ids of texts. What computes them is imported on use: few commands need any."""
# ruff: noqa: PLC0415

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import hashlib

_URLS = "6ba7b811-9dad-11d1-80b4-00c04fd430c8"  # RFC 9562's namespace of URLs


def sha256(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, as 64 hexadecimal digits."""
    return begin(text.encode()).hexdigest()


def begin(content: bytes) -> hashlib._Hash:
    """Return the SHA-256 of a content that goes on."""
    import hashlib

    return hashlib.sha256(content)


def uuid_of(text: str, namespace: str = _URLS) -> str:
    """Return the UUID that stands for a text in a namespace, always the same (version 5)."""
    from uuid import UUID, uuid5

    return str(uuid5(UUID(namespace), text))

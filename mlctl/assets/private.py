"""Files in an upload that were hardly meant to leave the machine: secrets, history, what links to.

`az` and the SDK upload them all the same, and so does mlctl, with a finding that names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mlctl.assets import folders
from mlctl.assets.folders import walk
from mlctl.diagnostics import Diagnostic, Rule, Severity
from mlctl.files import real
from mlctl.kinds.field import Field
from mlctl.kinds.resource import Resource, Upload

PRIVATE = Rule("MLC411", "private-file-uploaded", Severity.WARNING)

_FEW = 3  # files that a finding names
_PRIVATE = re.compile(
    r"\.env(?:\..*)?|\.git|\.netrc|\.npmrc|\.pypirc|\.azure|\.aws|\.ssh|\.kube"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)|.*\.(?:pem|pfx|p12|key|kdbx|publishsettings)",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"\.env\.(?:example|sample|template|dist)", re.IGNORECASE)


def private_findings(
    resource: Resource, field: Field, uploads: Iterable[Upload]
) -> Iterator[Diagnostic]:
    """A finding for each folder among the uploads of a field that has private files in it.

    Raises:
        OSError: the folder or its ignore file cannot be read.
    """
    for upload in uploads:
        path = Path(upload.path)
        names = list(private_files(path)) if path.is_dir() else []
        if names:
            listed = ", ".join(f"`{name}`" for name in names[:_FEW])
            remainder = f" and {len(names) - _FEW} more" if names[_FEW:] else ""
            yield Diagnostic(
                PRIVATE,
                f"`{path.name}` is uploaded with {listed}{remainder}",
                resource.label(field.at),
                hint=f"name what is not meant to be uploaded in `{path.name}/.amlignore`",
                address=str(resource.address),
            )


def private_files(root: Path) -> Iterator[str]:
    """What of a folder's upload is private, by its path in the folder: a folder once, as a whole.

    Raises:
        OSError: the folder or its ignore file cannot be read.
    """
    top, last_folder = real(root), ""
    for entry in walk(root, folders.read_ignored(root), prune=False):
        if entry.is_folder or (last_folder and f"{entry.relative}/".startswith(last_folder)):
            continue
        path = root
        for part in Path(entry.relative).parts:
            path /= part
            relative = path.relative_to(root).as_posix()
            if _PRIVATE.fullmatch(part) and not _HARMLESS.fullmatch(part):
                last_folder = f"{relative}/"
                yield relative if relative == entry.relative else last_folder
                break
            if path.is_symlink() and not real(path).is_relative_to(top):
                last_folder = f"{relative}/"
                yield f"{relative} (a link out of it)"
                break

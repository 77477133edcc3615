"""Find files in an upload that should probably stay local: secrets, history, outward links.

`az` and the SDK upload them anyway, as does mlctl, with a finding that names them.
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
_PRIVATE = (  # a text: `re` compiles it once a folder is uploaded
    r"\.env(?:\.(?!(?:example|sample|template|dist)\Z).*)?|\.git|\.netrc|\.npmrc|\.pypirc|\.azure"
    r"|\.aws|\.ssh|\.kube|id_(?:rsa|dsa|ecdsa|ed25519)"
    r"|.*\.(?:pem|pfx|p12|key|kdbx|publishsettings)"
)


def private_findings(
    resource: Resource, field: Field, uploads: Iterable[Upload]
) -> Iterator[Diagnostic]:
    """Yield a finding for each folder among a field's uploads that has private files.

    Raises:
        OSError: the folder or its ignore file cannot be read.
    """
    for upload in uploads:
        path = Path(upload.path)
        names = list(private_files(path)) if path.is_dir() else []
        if names:
            listed = ", ".join(f"`{name}`" for name in names[:_FEW])
            remainder = f" and {len(names) - _FEW} more" if names[_FEW:] else ""
            message = f"`{path.name}` is uploaded with {listed}{remainder}"
            hint = f"list what should not be uploaded in `{path.name}/.amlignore`"
            yield Diagnostic(
                PRIVATE, message, resource.label(field.at), hint=hint, address=str(resource.address)
            )


def private_files(root: Path) -> Iterator[str]:
    """Yield the private files of a folder's upload, by relative path; a private folder as a whole.

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
            if re.fullmatch(_PRIVATE, part, re.IGNORECASE):
                last_folder = f"{relative}/"
                yield relative if relative == entry.relative else last_folder
                break
            if path.is_symlink() and not real(path).is_relative_to(top):
                last_folder = f"{relative}/"
                yield f"{relative} (a link out of it)"
                break

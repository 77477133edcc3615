"""Saved plans: what `plan --out` writes and `apply FILE` reads.

One versioned JSON document: that of `plan -o json`, with `steps` and `read` (address to
fingerprint). What steps write over is the same for many of a kind: each list of these pointers
stands once, in `without`, and a step says which it is. The document never holds a secret: a step
says where in the user's files its secrets are, and they are read from there when the plan is
applied. Nor does it hold the content of local files: a step names those to upload, with their
hashes.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mlctl import files, masking, pointer
from mlctl.assets import local_files
from mlctl.dataclasses import asdict, dataclass, replace
from mlctl.kinds import kind_of
from mlctl.kinds.address import Address, Scope
from mlctl.kinds.facts import UploadTarget
from mlctl.kinds.resource import Upload
from mlctl.planfile_types import MadeFrom, wrong_place
from mlctl.planning.model import Action, Plan
from mlctl.planning.steps.bodies import Restoration
from mlctl.planning.steps.work import PlanStep, Secret, StepRole, Work
from mlctl.pointer import Data, Pointer
from mlctl.render.plan import plan_json
from mlctl.source.document import STDIN

# The document at an index (from 0) of a file; None: there is no such file or document.
ReadDocument = Callable[[str, int], Mapping[str, Data] | None]

_MAX_BYTES = 1 << 30
FORMAT_VERSION = "5.0"  # of plan files; the major number changes with what `load` can read
_AGAIN = "make a new one: mlctl plan PATH... --out FILE"


class PlanFileError(Exception):
    """A plan cannot be saved, read or carried out; `hint` says what to do."""

    def __init__(self, message: str, hint: str = _AGAIN) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, eq=False)
class SavedPlan:
    """A plan that was read from a file: the work without its secrets, and the whole document."""

    work: Work
    document: Mapping[str, Data]

    @property
    def applyable(self) -> bool:
        """Whether apply would do it."""
        return bool(self.document["applyable"])

    @property
    def made_from(self) -> MadeFrom:
        """Return what it was made from."""
        return MadeFrom(**self.document["made_from"])

    @property
    def actions(self) -> dict[Address, Action]:
        """Return the action on each resource."""
        return {
            Address.parse(change["address"]): Action(tuple(change["change"]["actions"]))
            for change in self.document["resource_changes"]
        }


def masked_body(step: PlanStep, body: Mapping[str, Data], work: Work) -> Data:
    """Return the body of a step as a saved plan has it.

    Raises:
        PlanFileError: it holds a secret that apply would not find again.
    """
    return json.loads(json.dumps(_without_secrets(step, body, work.secrets)))


def save(
    plan: Plan,
    work: Work,
    path: str | Path,
    project_file: str | None = None,
    made_from: MadeFrom = MadeFrom(),
) -> None:
    """Write a plan and its work, atomically, to a file that only its owner can read.

    `project_file` is the `mlctl.yml` that it was made with.

    Raises:
        PlanFileError: apply could not find a secret again (it came from standard input, or from no
            document); or the file cannot be written.
    """
    document = {**plan_json.document(plan), "format_version": FORMAT_VERSION}
    document |= {"project_file": project_file, "made_from": asdict(made_from)}
    for change in document["resource_changes"]:
        for side in ("before", "after"):
            change["change"][side] = masking.masked(change["change"][side])
    for diagnostic in document["diagnostics"]:
        diagnostic["snippet"] = None  # a line of the user's text may hold anything
        diagnostic.update(masking.masked({key: diagnostic[key] for key in ("summary", "detail")}))
    pointer_lists = list(dict.fromkeys(step.without for step in work.steps))
    document["without"] = [list(map(pointer.text, pointers)) for pointers in pointer_lists]
    number_of_list = {pointers: number for number, pointers in enumerate(pointer_lists)}
    document["steps"] = [
        _written_step(step, number_of_list[step.without], work.secrets) for step in work.steps
    ]
    document["read"] = {str(address): fingerprint for address, fingerprint in work.read.items()}
    text = json.dumps(document, separators=(",", ":"))
    try:
        files.write(Path(path), f"{text}\n".encode(), private=True)
    except OSError as error:
        raise PlanFileError(
            f"cannot write the plan to `{path}`: {error.strerror or error}", "name another file"
        ) from error


def load(path: str | Path) -> SavedPlan:
    """Load the plan in a file.

    Raises:
        PlanFileError: the file is missing or damaged, or has another format version.
    """
    document = _document(path)
    version = document["format_version"]
    if str(version).partition(".")[0] != FORMAT_VERSION.partition(".")[0]:
        made_by = document.get("mlctl_version", "another version")
        raise PlanFileError(
            f"`{path}` has the format {version}, which this mlctl does not know",
            f"apply it with the mlctl that made it ({made_by}), or {_AGAIN}",
        )
    wrong = wrong_place(document)
    if wrong is not None:
        raise PlanFileError(f"`{path}` is damaged: `{wrong}` is not what a plan has there")
    try:
        pointer_lists = [tuple(map(pointer.parse, texts)) for texts in document["without"]]
        work = Work(
            document["backend"],
            Scope(**document["workspace"]),
            tuple(_read_step(step, pointer_lists) for step in document["steps"]),
            {Address.parse(text): fingerprint for text, fingerprint in document["read"].items()},
        )
        saved = SavedPlan(work, document)
        saved.actions, saved.applyable, saved.made_from  # noqa: B018  # a plan that cannot be shown is no plan
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise PlanFileError(f"`{path}` is damaged: it is not a whole plan") from error
    return saved


def fill_secrets(work: Work, read_document: ReadDocument) -> Work:
    """Fill the secrets of the user's files into the bodies of the work.

    Raises:
        PlanFileError: a file, the document in it or the value is gone, or it is another resource's;
            or what is to be uploaded has changed since the plan was made.
    """
    for step in work.steps:
        check_uploads(step)
    return replace(work, steps=tuple(_filled(step, read_document) for step in work.steps))


def check_uploads(step: PlanStep) -> None:
    """Check that local content is what it was when the plan was made.

    Raises:
        PlanFileError: it is not, or cannot be read.
    """
    for upload in step.uploads:
        try:
            is_same = local_files.digest(upload) == upload.digest
        except OSError as error:
            why = f"cannot be read: {error.strerror or error}"
            raise PlanFileError(f"{step.change} needs `{upload.path}`, which {why}") from error
        if not is_same:
            why = "has changed since the plan was made"
            raise PlanFileError(f"`{upload.path}`, which {step.change} uploads, {why}")


def _filled(step: PlanStep, read_document: ReadDocument) -> PlanStep:
    if not step.secrets:
        return step
    body = copy.deepcopy(dict(step.body))
    for secret in step.secrets:
        pointer.put(body, secret.wire, _secret(step, secret, read_document))
    return replace(step, body=body)


def _secret(step: PlanStep, secret: Secret, read_document: ReadDocument) -> Data:
    place = f"`{pointer.dotted(secret.at)}` of {step.change}"
    document = read_document(secret.file, secret.index)
    if document is None:
        raise PlanFileError(
            f"the plan needs {place}, and `{secret.file}` no longer exists",
            f"put the file back (a plan holds no secrets), or {_AGAIN}",
        )
    if str(document.get("name")).casefold() != step.change.name.casefold():
        raise PlanFileError(f"the plan needs {place}, and `{secret.file}` has other contents now")
    value = pointer.get(document, secret.at)
    if value is None:
        raise PlanFileError(
            f"the plan needs {place}, and `{secret.file}` does not give it any more"
        )
    return value


def _without_secrets(
    step: PlanStep, body: Mapping[str, Data], known: frozenset[str]
) -> dict[str, Data]:
    """Mask the secrets in a step's body that apply finds in the file again."""
    cleaned = copy.deepcopy(dict(body))
    for form in kind_of(step.target).forms:
        for form_field in form.fields:
            if form_field.secret:
                pointer.drop(cleaned, form_field.wire)
    known_places = {secret.wire for secret in step.secrets}
    for wire, _ in list(masking.find(cleaned, (), known)):
        if wire not in known_places:
            raise PlanFileError(
                f"`{pointer.dotted(wire)}` of {step.change} holds what looks like a secret, and no"
                " document gives it as it is: a saved plan, which holds none, could not find it"
                " again",
                "apply without a saved plan: mlctl apply PATH...",
            )
        pointer.put(cleaned, wire, masking.MASK)
    return cleaned


def _written_step(step: PlanStep, list_number: int, known: frozenset[str]) -> dict[str, Data]:
    """Return a step as plain data, without empty parts."""
    written: dict[str, Data] = {
        "id": step.id,
        "change": str(step.change),
        "role": step.role.value,
        "target": str(step.target),
        "without": list_number,
    }
    restoration = step.restoration
    if restoration.base is not None:
        written["base"] = _without_secrets(step, restoration.base, known)
    if restoration.routes_before is not None:
        written["until"] = dict(restoration.routes_before)
    optional = {
        "body": _without_secrets(step, step.body, known),
        "kept": [pointer.text(at) for at in restoration.fields],
        "needs": list(step.needs),
        "secrets": [_written_secret(step, secret) for secret in step.secrets],
        "subsumed": step.subsumed,
        "uploads": [{**asdict(upload), "target": upload.target.value} for upload in step.uploads],
    }
    return written | {key: value for key, value in optional.items() if value}


def _written_secret(step: PlanStep, secret: Secret) -> dict[str, Data]:
    if secret.file == STDIN:
        raise PlanFileError(
            f"`{pointer.dotted(secret.at)}` of {step.change} came from standard input,"
            " and a saved plan holds no secrets",
            "put the document in a file, from which apply can read it again",
        )
    return {**asdict(secret), "absolute": str(Path(secret.file).absolute())}


def _read_step(data: Mapping[str, Data], pointer_lists: Sequence[tuple[Pointer, ...]]) -> PlanStep:
    return PlanStep(
        data["id"],
        Address.parse(data["change"]),
        StepRole(data["role"]),
        Address.parse(data["target"]),
        data.get("body", {}),
        tuple(data.get("needs", ())),
        tuple(map(_read_secret, data.get("secrets", ()))),
        data.get("subsumed", False),
        tuple(map(_read_upload, data.get("uploads", ()))),
        pointer_lists[data["without"]],
        Restoration(
            data.get("base"), tuple(map(pointer.parse, data.get("kept", ()))), data.get("until")
        ),
    )


def _read_upload(data: Mapping[str, Data]) -> Upload:
    return Upload(UploadTarget(data["target"]), data["path"], data["digest"], tuple(data["wire"]))


def _read_secret(data: Mapping[str, Data]) -> Secret:
    """Read a secret: from the file at its absolute path, else at its path as given."""
    file = data["absolute"] if Path(data["absolute"]).exists() else data["file"]
    return Secret(tuple(data["wire"]), file, data["index"], tuple(data["at"]))


def _document(path: str | Path) -> dict[str, Data]:
    try:
        document = json.loads(files.read(Path(path), _MAX_BYTES, pipes=True))
    except OSError as error:
        raise PlanFileError(f"cannot read the plan `{path}`: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise PlanFileError(f"`{path}` is no plan, or was cut off: it is not JSON") from error
    if not isinstance(document, dict) or "format_version" not in document:
        raise PlanFileError(f"`{path}` is JSON, but no plan")
    return document

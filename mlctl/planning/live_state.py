"""The live state that a plan is computed from, as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from mlctl import catalog, pointer
from mlctl.backends.ports.backend import Live, Usage
from mlctl.catalog.prices import PriceList
from mlctl.dataclasses import dataclass, field
from mlctl.kinds import Address, Reference, Resource, Scope, codec, kind_of
from mlctl.kinds.facts import QuotaRefusal
from mlctl.kinds.field import Form, read_field
from mlctl.kinds.values import Values, decode, fingerprint, form_of_body
from mlctl.planning.model import Unfinished
from mlctl.pointer import Data, Pointer
from mlctl.schema import places


class DecodedBodies:
    """The values of live bodies in the spelling of files; each body is decoded once per form."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._values: dict[tuple[int, Form], tuple[Mapping[str, Data], Values]] = {}

    def values(self, body: Mapping[str, Data], form: Form) -> Values:
        """Return a body's values for the fields that files can set."""
        key = id(body), form
        if key not in self._values:
            # Keep the body too, so that its id stays unique.
            self._values[key] = body, decode(body, form, self.scope, with_service_fields=False)
        return self._values[key][1]

    def version_of_label(self, live: Live | None, resource: Resource, at: Pointer) -> Data:
        """Return the live value if the file names the same asset by a label; else None."""
        form_field = resource.form.field(at)
        value = self.values(live.body, resource.form).get(at) if live is not None else None
        if form_field is None or value is None:
            return None
        differs = codec.differ(resource.values[at], value, form_field, self.scope)
        return None if differs else value


class Fingerprints(Mapping[Address, str | None]):
    """The fingerprints of resources (None if missing), computed on demand."""

    def __init__(self, live: Mapping[Address, Live | None], scope: Scope) -> None:
        self._live = live
        self._scope = scope

    def __getitem__(self, address: Address) -> str | None:
        live = self._live[address]
        return fingerprint(live.body, kind_of(live.address), self._scope) if live else None

    def __iter__(self) -> Iterator[Address]:
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)


@dataclass(frozen=True, slots=True)
class LiveState:
    """What the backend had when it was read.

    `location` is the workspace's region. `live` is keyed by requested address; resources that are
    being deleted are in `deleting` instead. `usage` is by region. `taken` says who has a name that
    must be unique in its region. `used_by` lists the live deployments that refer to an address or,
    for an endpoint, belong to it. `quota_refuses` is the backend's check of clusters. `owned` has
    the tag of the requested project. `unfinished` is what unfinished applies have yet to restore.
    `labels` resolves registry labels in files. `prices` are node prices (None: mlctl's own list).
    """

    scope: Scope
    location: str
    live: Mapping[Address, Live]
    usage: Mapping[str, list[Usage]] = field(default_factory=dict)
    taken: Mapping[Address, str] = field(default_factory=dict)
    used_by: Mapping[Address, list[Address]] = field(default_factory=dict)
    deleting: Mapping[Address, Live] = field(default_factory=dict)
    quota_refuses: QuotaRefusal = QuotaRefusal.MIN
    owned: tuple[Live, ...] = ()
    unfinished: Mapping[Address, Unfinished] = field(default_factory=dict)
    decoded: DecodedBodies | None = None
    labels: Mapping[Address, Mapping[Pointer, Data]] = field(default_factory=dict)
    prices: PriceList | None = None

    @property
    def bodies(self) -> DecodedBodies:
        """The decoded values of live bodies."""
        return self.decoded or DecodedBodies(self.scope)


def region(resource: Resource, live: Live | None, default: str) -> str:
    """Return the region in ARM's spelling: the file's, else the live resource's, else `default`."""
    live_region = live.body.get("location") if live else None
    return catalog.region(resource.values.get(("location",), live_region or default))


def names_in(live: Live, scope: Scope) -> list[Address]:
    """Return the addresses in this workspace that a live body refers to."""
    addresses = []
    form = form_of_body(kind_of(live.address), live.body, scope)
    for form_field in form.fields:
        value = codec.decode(pointer.get(live.body, form_field.wire), form_field, scope)
        references = [(form_field, value)] if form_field.refers_to else []
        references += [
            (inner, pointer.get(value, inner.at[len(form_field.at) :]))
            for inner in codec.inner_fields(form_field, value)
        ]
        if form_field in form.nested:  # maps: the settings of a pipeline
            references += [
                (read_field(level, at), pointer.get(value, at[len(form_field.at) :]))
                for at, level in places(form_field.schema, value, form_field.at)
                if "x-mlctl-refers-to" in level
            ]
        for at, text in references:
            reference = Reference.parse(str(text), at.refers_to or "")
            if reference and reference.address and reference.within(scope).scope is None:
                addresses.append(reference.address)
    return addresses


def users_of(children: Iterable[Live], scope: Scope) -> dict[Address, list[Address]]:
    """Return the deployments that refer to an address or, for a parent, belong to it."""
    users: dict[Address, list[Address]] = defaultdict(list)
    for child in children:
        for used in (child.address.up, *names_in(child, scope)):
            if used is not None:
                users[used].append(child.address)
    return dict(users)

"""What an apply takes from a resource on its way and has yet to put back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from mlctl import pointer
from mlctl.backends.ports.backend import Live
from mlctl.kinds import children, kind_of, routes
from mlctl.kinds.address import Address
from mlctl.kinds.routes import Routes
from mlctl.kinds.values import moving, overlay
from mlctl.pointer import Data


@dataclass(frozen=True, slots=True)
class Owed:
    """What one resource has lost when an apply ends too early, and what no file says of it.

    `body` is that part of its ARM body. `deleted` says whether the resource itself is deleted and
    made anew; else it stays, and its requests have only been sent elsewhere. `meanwhile` is where
    these go until the last step, as a part of a body. `secrets` are the places of what is not kept,
    because it looks like a secret. `moved` says that nothing was lost, but not yet taken over: by a
    successor that is not there, or by requests that are to go to one. `since` says when that apply
    began (ISO 8601), and `file` is the journal that says so.
    """

    address: Address
    body: Mapping[str, Data] = field(default_factory=dict)
    deleted: bool = True
    meanwhile: Mapping[str, Data] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    moved: bool = False
    since: str = ""
    file: str = ""

    @property
    def routes(self) -> Routes:
        """Where the requests of an endpoint are to go again."""
        said = routes.routes(kind_of(self.address), self.body)
        return {at: shares for at, shares in said.items() if shares}

    @property
    def children(self) -> frozenset[Address]:
        """The deployments that get requests again."""
        names = {name for shares in self.routes.values() for name in shares}
        beneath = children(self.address.kind)
        return frozenset(Address(beneath[0].name, name, self.address.name) for name in names)

    @property
    def about(self) -> frozenset[Address]:
        """The resource, what it is beneath, and what gets its requests."""
        above = {self.address.up} if self.address.up is not None else set()
        return frozenset({self.address, *above, *self.children})

    def missing(self, live: Collection[Address]) -> list[Address]:
        """The resource, and the deployments that are to get its requests and are not there."""
        return [self.address, *sorted(self.children - set(live))]

    def left(self, live: Live | None) -> Owed | None:
        """What of it is still owed to the resource as it is now; None where nothing is.

        A resource that is there again has all that its maker knew, but for the routes: they are set
        last, once the deployments are there. Who has set others since knows better.
        """
        if live is None:
            return self if self.deleted else None
        if moving(live.body):
            return self  # until that ends, the body does not say what it will be
        kind = kind_of(self.address)
        now, until = routes.routes(kind, live.body), routes.routes(kind, self.meanwhile)
        left = {
            one.wire: pointer.get(self.body, one.wire)
            for one in kind.route_fields
            if one.at in self.routes
            and routes.same(now[one.at], until[one.at])
            and not routes.same(now[one.at], self.routes[one.at])
        }
        if not left:
            return None
        return replace(self, body=pointer.nest(left), deleted=False, secrets=())

    def after(self, earlier: Owed) -> Owed:
        """What is owed where an earlier apply owes something, too."""
        body = overlay(earlier.body, self.body, ())
        meanwhile = overlay(earlier.meanwhile, self.meanwhile, ())
        secrets = tuple(dict.fromkeys((*earlier.secrets, *self.secrets)))
        deleted = self.deleted or earlier.deleted
        return replace(self, body=body, meanwhile=meanwhile, deleted=deleted, secrets=secrets)

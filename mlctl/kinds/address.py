"""The names of things: workspaces (scope), resources (address), what files name (reference)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

PROVIDER = "Microsoft.MachineLearningServices"
LATEST = "latest"

# kind -> (ARM collection, parent kind, versioned); the order is the order of lists and help.
COLLECTIONS: dict[str, tuple[str, str | None, bool]] = {
    "compute": ("computes", None, False),
    "batch-endpoint": ("batchEndpoints", None, False),
    "batch-deployment": ("deployments", "batch-endpoint", False),
    "model": ("models", None, True),
    "environment": ("environments", None, True),
    "component": ("components", None, True),
    "code": ("codes", None, True),
    "batch-pool": ("batchPools", None, False),  # of a retired service: the collection is ours
    "job": ("jobs", None, False),
}
_KIND_OF = {
    collection.casefold(): kind
    for kind, (collection, parent, _) in COLLECTIONS.items()
    if not parent
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Subscription, resource group and workspace: what an ARM id needs and a file does not say."""

    subscription: str
    resource_group: str
    workspace: str

    @property
    def id(self) -> str:
        """The workspace's ARM id, spelt as the SDK's case-sensitive parsers need it."""
        return (
            f"/subscriptions/{self.subscription}/resourceGroups/{self.resource_group}"
            f"/providers/{PROVIDER}/workspaces/{self.workspace}"
        )

    def __str__(self) -> str:
        return f"{self.subscription}/{self.resource_group}/{self.workspace}"


@dataclass(frozen=True, eq=False)
class Address:
    """`kind/name`, `kind/parent/name`, `kind/name:version`; prints and parses back to itself.

    Names compare without case, as ARM compares them. A versioned kind without a version
    means its newest version.
    """

    kind: str
    name: str
    parent: str | None = None
    version: str | None = None

    @cached_property
    def _key(self) -> tuple[str, str, str, str | None]:
        return (self.kind, (self.parent or "").casefold(), self.name.casefold(), self.version)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: Address) -> bool:
        return self.sort_key < other.sort_key

    @property
    def sort_key(self) -> tuple[int, str, str, str]:
        """Kinds in the order of `COLLECTIONS`, then names."""
        order = list(COLLECTIONS).index(self.kind) if self.kind in COLLECTIONS else len(COLLECTIONS)
        return (order, self.parent or "", self.name, self.version or "")

    def __str__(self) -> str:
        version = f":{self.version}" if self.version is not None else ""
        return "/".join(part for part in (self.kind, self.parent, self.name + version) if part)

    @classmethod
    def parse(cls, text: str) -> Address:
        """The address that `text` spells.

        Raises:
            ValueError: the kind is unknown or the number of parts is wrong; says what is right.
        """
        kind, _, rest = text.partition("/")
        if kind not in COLLECTIONS:
            raise ValueError(f"`{text}` is no address: the kind is one of {', '.join(COLLECTIONS)}")
        _, parent_kind, versioned = COLLECTIONS[kind]
        if parent_kind:
            parent, slash, name = rest.partition("/")
            if not (parent and slash and name):
                raise ValueError(f"`{text}` is no address: write `{kind}/ENDPOINT/NAME`")
            return cls(kind, name, parent)
        name, colon, version = rest.partition(":") if versioned else (rest, "", "")
        if not name or "/" in name or (colon and not version):
            form = f"{kind}/NAME:VERSION" if versioned else f"{kind}/NAME"
            raise ValueError(f"`{text}` is no address: write `{form}`")
        return cls(kind, name, None, version or None)

    @property
    def up(self) -> Address | None:
        """The address of the parent: a deployment's endpoint."""
        parent_kind = COLLECTIONS[self.kind][1]
        return Address(parent_kind, self.parent) if parent_kind and self.parent else None

    def at(self, version: str | None) -> Address:
        """The same name with another version."""
        return replace(self, version=version)

    def id(self, scope: Scope) -> str:
        """The ARM id in `scope`."""
        collection = COLLECTIONS[self.kind][0]
        above = self.up.id(scope) if self.up else scope.id
        version = f"/versions/{self.version}" if self.version is not None else ""
        return f"{above}/{collection}/{self.name}{version}"


def version_key(version: str | None) -> tuple[int, str]:
    """What versions are put in order by: whole numbers by value, after all others."""
    return (int(version), "") if version and version.isdecimal() else (-1, version or "")


_ARM_ID = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)"
    rf"/providers/{re.escape(PROVIDER)}/workspaces/(?P<workspace>[^/]+)"
    r"/(?P<collection>[^/]+)/(?P<name>[^/]+)"
    r"(?:/versions/(?P<version>[^/]+)|/labels/(?P<label>[^/]+))?/?",
    re.IGNORECASE,
)
_SHORT = re.compile(r"azureml:(?P<name>[^:@/\s]+)(?:@(?P<label>[^:@/\s]+)|:(?P<version>[^/@\s]+))?")
_URI = re.compile(r"azureml://\S+")


@dataclass(frozen=True, slots=True)
class Reference:
    """What a value of a file names: something of this workspace, of another one, or of a registry.

    `text` is the value as written. `address` is set when the thing has a name in a workspace
    (`scope` None: this one); `label` is what follows `@`. A registry URI has neither.
    """

    text: str
    address: Address | None = None
    scope: Scope | None = None
    label: str | None = None

    @property
    def floating(self) -> bool:
        """Whether the version is left to the service: `@latest`, or no version at all."""
        target = self.address
        return target is not None and COLLECTIONS[target.kind][2] and target.version is None

    @classmethod
    def parse(cls, text: str, kind: str) -> Reference | None:
        """What `text` names, read as a reference to a `kind`; None when it is no reference.

        The grammar is that of the SDK's ArmStr, ArmVersionedStr and RegistryStr fields:
        `azureml:NAME[:VERSION|@LABEL]`, `azureml:<ARM id>`, `azureml://...`; a compute may also be
        a bare name or a bare ARM id.
        """
        if _URI.fullmatch(text):
            return cls(text)
        bare = text.removeprefix("azureml:") if text.startswith("azureml:/") else text
        if bare is not text or kind == "compute":
            arm = _ARM_ID.fullmatch(bare)
            if arm:
                return cls._of_arm_id(text, arm, kind)
        if kind == "compute" and text and not set(text) & set("/@ \t:"):
            return cls(text, Address(kind, text))
        short = _SHORT.fullmatch(text)
        if not short:
            return None
        versioned = COLLECTIONS[kind][2]
        if not versioned and (short["version"] or short["label"]):
            return None
        return cls(text, Address(kind, short["name"], None, short["version"]), None, short["label"])

    @classmethod
    def _of_arm_id(cls, text: str, arm: re.Match[str], kind: str) -> Reference | None:
        if _KIND_OF.get(arm["collection"].casefold()) != kind:
            return None
        scope = Scope(arm["subscription"], arm["group"], arm["workspace"])
        return cls(text, Address(kind, arm["name"], None, arm["version"]), scope, arm["label"])

    def within(self, scope: Scope) -> Reference:
        """The same, with `scope` None where it is the workspace `scope` itself."""
        if self.scope is not None and str(self.scope).casefold() == str(scope).casefold():
            return replace(self, scope=None)
        return self

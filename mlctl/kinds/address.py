"""Names: of workspaces (`Scope`), of resources (`Address`), and in files (`Reference`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from mlctl.dataclasses import dataclass, field, replace
from mlctl.kinds.kind import Kind
from mlctl.kinds.registry import ALL, RECORDS
from mlctl.pointer import Data, Pointer

PROVIDER = "Microsoft.MachineLearningServices"
LATEST = "latest"

_ORDER = {name: at for at, name in enumerate(ALL)}


@dataclass(frozen=True, slots=True)
class Scope:
    """Subscription, resource group and workspace, which every ARM id needs."""

    subscription: str
    resource_group: str
    workspace: str

    @property
    def id(self) -> str:
        """Return the workspace's ARM id, in the case that the SDK's case-sensitive parsers need."""
        return f"{self.group}/providers/{PROVIDER}/workspaces/{self.workspace}"

    @property
    def group(self) -> str:
        """Return the resource group's ARM id."""
        return f"/subscriptions/{self.subscription}/resourceGroups/{self.resource_group}"

    def __str__(self) -> str:
        return f"{self.subscription}/{self.resource_group}/{self.workspace}"


@dataclass(frozen=True, eq=False)
class Address:
    """`kind/name`, `kind/parent/name` or `kind/name:version`; its text parses back to itself.

    Names compare without case, as in ARM. A versioned kind without a version means its newest
    version.
    """

    kind: str
    name: str
    parent: str | None = None
    version: str | None = None
    _key: tuple[str, str, str, str | None] = field(init=False, repr=False)
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parent = (self.parent or "").casefold()
        key = (self.kind, parent, self.name.casefold(), self.version)
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_hash", hash(key))  # it is asked for some forty times in a plan

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Address) -> bool:
        return self.sort_key < other.sort_key

    @property
    def sort_key(self) -> tuple[int, str, str, str]:
        """Sort by kind, then by name."""
        order = _ORDER.get(self.kind, len(_ORDER))
        return (order, self.parent or "", self.name, self.version or "")

    def __str__(self) -> str:
        version = f":{self.version}" if self.version is not None else ""
        return "/".join(part for part in (self.kind, self.parent, self.name + version) if part)

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse an address.

        Raises:
            ValueError: the kind is unknown or the number of parts is wrong; the message says which.
        """
        kind, _, path = text.partition("/")
        if kind not in ALL:
            raise ValueError(
                f"`{text}` is not an address: its kind must be one of {', '.join(ALL)}"
            )
        versioned = RECORDS[kind].versioned
        if RECORDS[kind].parent:
            parent, slash, name = path.partition("/")
            if not (parent and slash and name):
                raise ValueError(f"`{text}` is not an address: write `{kind}/ENDPOINT/NAME`")
            return cls(kind, name, parent)
        name, colon, version = path.partition(":") if versioned else (path, "", "")
        if not name or "/" in name or (colon and not version):
            form = f"{kind}/NAME:VERSION" if versioned else f"{kind}/NAME"
            raise ValueError(f"`{text}` is not an address: write `{form}`")
        return cls(kind, name, None, version or None)

    @property
    def up(self) -> Address | None:
        """The parent's address: a deployment's endpoint."""
        parent_kind = RECORDS[self.kind].parent
        return Address(parent_kind, self.parent) if parent_kind and self.parent else None

    @property
    def is_newest(self) -> bool:
        """Whether it means the newest version: its kind is versioned, and it has no version."""
        return self.version is None and RECORDS[self.kind].versioned

    @property
    def name_fields(self) -> dict[Pointer, Data]:
        """Return the fields by which a file names the resource, with their values."""
        names = {"name": self.name, "endpoint_name": self.parent, "version": self.version}
        return {(key,): name for key, name in names.items() if name is not None}

    def at(self, version: str | None) -> Address:
        """Return the same name with another version."""
        return Address(self.kind, self.name, self.parent, version)

    def id(self, scope: Scope) -> str:
        """Return the ARM id in `scope`."""
        collection = RECORDS[self.kind].collection
        above = self.up.id(scope) if self.up else scope.id
        version = f"/versions/{self.version}" if self.version is not None else ""
        return f"{above}/{collection}/{self.name}{version}"


def kind_of(address: Address) -> Kind:
    """Return the kind of an address, including kinds that no document declares."""
    return RECORDS[address.kind]


def own_address(kind: Kind, data: Mapping[str, Data]) -> Address | None:
    """Return a document's own address; None if a name is missing or not text."""
    name, above = data.get("name"), data.get(kind.parent_key) if kind.parent else None
    if not isinstance(name, str) or not name:
        return None
    if kind.parent and not (isinstance(above, str) and above):
        return None
    version = data.get("version") if kind.versioned else None
    return Address(kind.name, name, above, None if version is None else str(version))


def version_key(version: str | None) -> tuple[int, str]:
    """Return the sort key of a version: whole numbers by value, after all others."""
    return (int(version), "") if version and version.isdecimal() else (-1, version or "")


_ARM_ID = (  # compiled only if a value may be an ARM id
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)"
    rf"/providers/{re.escape(PROVIDER)}/workspaces/(?P<workspace>[^/]+)"
    r"/(?P<collection>[^/]+)/(?P<name>[^/]+)"
    r"(?:/versions/(?P<version>[^/]+)|/labels/(?P<label>[^/]+))?/?"
)
_SHORT = re.compile(r"azureml:(?P<name>[^:@/\s]+)(?:@(?P<label>[^:@/\s]+)|:(?P<version>[^/@\s]+))?")
_URI = re.compile(r"azureml://\S+")


@dataclass(frozen=True, slots=True)
class Reference:
    """The target of a value: in this workspace, in another one, or in a registry.

    `text` is the value as written. `address` is set if the target has a name in a workspace
    (`scope` None: this one); `label` follows `@`. A registry URI has neither.
    """

    text: str
    address: Address | None = None
    scope: Scope | None = None
    label: str | None = None

    @property
    def floating(self) -> bool:
        """Whether the version is left to the service: `@latest`, or no version at all."""
        target = self.address
        return target is not None and target.is_newest

    @classmethod
    def parse(cls, text: str, kind: str) -> Reference | None:
        """Parse `text` as a reference to a `kind`; None if it is not a reference.

        The grammar is that of the SDK's ArmStr, ArmVersionedStr and RegistryStr fields:
        `azureml:NAME[:VERSION|@LABEL]`, `azureml:<ARM id>`, `azureml://...`; a compute may also be
        a bare name or a bare ARM id.
        """
        if _URI.fullmatch(text):
            return cls(text)
        bare = text.removeprefix("azureml:") if text.startswith("azureml:/") else text
        if bare[:1] == "/" and (bare is not text or kind == "compute"):
            arm = re.fullmatch(_ARM_ID, bare, re.IGNORECASE)
            if arm:
                return cls._parse_arm_id(text, arm, kind)
        if kind == "compute" and text and not set(text) & set("/@ \t:"):
            return cls(text, Address(kind, text))
        short = _SHORT.fullmatch(text)
        if not short:
            return None
        if not RECORDS[kind].versioned and (short["version"] or short["label"]):
            return None
        return cls(text, Address(kind, short["name"], None, short["version"]), None, short["label"])

    @classmethod
    def _parse_arm_id(cls, text: str, arm: re.Match[str], kind: str) -> Reference | None:
        if _kinds_by_collection().get(arm["collection"].casefold()) != kind:
            return None
        scope = Scope(arm["subscription"], arm["group"], arm["workspace"])
        return cls(text, Address(kind, arm["name"], None, arm["version"]), scope, arm["label"])

    def within(self, scope: Scope) -> Reference:
        """Return the reference with `scope` None if it is the workspace `scope` itself."""
        if self.scope is not None and str(self.scope).casefold() == str(scope).casefold():
            return replace(self, scope=None)
        return self


@cache
def _kinds_by_collection() -> dict[str, str]:
    return {
        kind.collection.casefold(): kind.name
        for kind in ALL.values()
        if not kind.parent and not kind.arm.within
    }

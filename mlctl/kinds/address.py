"""The names of things: workspaces (scope), resources (address), what files name (reference)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from mlctl.dataclasses import dataclass, field, replace
from mlctl.kinds.kind import Kind
from mlctl.kinds.registry import ALL, RECORDS
from mlctl.pointer import Data

PROVIDER = "Microsoft.MachineLearningServices"
LATEST = "latest"

_ORDER = {name: at for at, name in enumerate(ALL)}


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
        """Kinds in their order, then names."""
        order = _ORDER.get(self.kind, len(_ORDER))
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
        kind, _, path = text.partition("/")
        if kind not in ALL:
            raise ValueError(f"`{text}` is no address: the kind is one of {', '.join(ALL)}")
        versioned = RECORDS[kind].versioned
        if RECORDS[kind].parent:
            parent, slash, name = path.partition("/")
            if not (parent and slash and name):
                raise ValueError(f"`{text}` is no address: write `{kind}/ENDPOINT/NAME`")
            return cls(kind, name, parent)
        name, colon, version = path.partition(":") if versioned else (path, "", "")
        if not name or "/" in name or (colon and not version):
            form = f"{kind}/NAME:VERSION" if versioned else f"{kind}/NAME"
            raise ValueError(f"`{text}` is no address: write `{form}`")
        return cls(kind, name, None, version or None)

    @property
    def up(self) -> Address | None:
        """The address of the parent: a deployment's endpoint."""
        parent_kind = RECORDS[self.kind].parent
        return Address(parent_kind, self.parent) if parent_kind and self.parent else None

    @property
    def is_newest(self) -> bool:
        """Whether it means the newest version: of a versioned kind, without a version."""
        return self.version is None and RECORDS[self.kind].versioned

    def at(self, version: str | None) -> Address:
        """The same name with another version."""
        return Address(self.kind, self.name, self.parent, version)

    def id(self, scope: Scope) -> str:
        """The ARM id in `scope`."""
        collection = RECORDS[self.kind].collection
        above = self.up.id(scope) if self.up else scope.id
        version = f"/versions/{self.version}" if self.version is not None else ""
        return f"{above}/{collection}/{self.name}{version}"


def kind_of(address: Address) -> Kind:
    """The kind of an address, those that no document declares included."""
    return RECORDS[address.kind]


def own_address(kind: Kind, data: Mapping[str, Data]) -> Address | None:
    """The address that a document gives itself; None while a name is missing or is no text."""
    name, above = data.get("name"), data.get(kind.parent_key) if kind.parent else None
    if not isinstance(name, str) or not name:
        return None
    if kind.parent and not (isinstance(above, str) and above):
        return None
    version = data.get("version") if kind.versioned else None
    return Address(kind.name, name, above, None if version is None else str(version))


def version_key(version: str | None) -> tuple[int, str]:
    """What versions are put in order by: whole numbers by value, after all others."""
    return (int(version), "") if version and version.isdecimal() else (-1, version or "")


_ARM_ID = (  # compiled where a value may be one
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)"
    rf"/providers/{re.escape(PROVIDER)}/workspaces/(?P<workspace>[^/]+)"
    r"/(?P<collection>[^/]+)/(?P<name>[^/]+)"
    r"(?:/versions/(?P<version>[^/]+)|/labels/(?P<label>[^/]+))?/?"
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
        return target is not None and target.is_newest

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
        if bare[:1] == "/" and (bare is not text or kind == "compute"):
            arm = re.fullmatch(_ARM_ID, bare, re.IGNORECASE)
            if arm:
                return cls._of_arm_id(text, arm, kind)
        if kind == "compute" and text and not set(text) & set("/@ \t:"):
            return cls(text, Address(kind, text))
        short = _SHORT.fullmatch(text)
        if not short:
            return None
        if not RECORDS[kind].versioned and (short["version"] or short["label"]):
            return None
        return cls(text, Address(kind, short["name"], None, short["version"]), None, short["label"])

    @classmethod
    def _of_arm_id(cls, text: str, arm: re.Match[str], kind: str) -> Reference | None:
        if _kinds_by_collection().get(arm["collection"].casefold()) != kind:
            return None
        scope = Scope(arm["subscription"], arm["group"], arm["workspace"])
        return cls(text, Address(kind, arm["name"], None, arm["version"]), scope, arm["label"])

    def within(self, scope: Scope) -> Reference:
        """The same, with `scope` None where it is the workspace `scope` itself."""
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

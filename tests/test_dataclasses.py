"""`dataclass` behaves as the standard library's, but for assignments, which mypy refuses."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import pydoc
from typing import Any, get_type_hints

import pytest

from mlctl.dataclasses import (
    MISSING,
    asdict,
    dataclass,
    field,
    fields,
    replace,
)


@dataclass(frozen=True, slots=True)
class Size:
    name: str
    cores: int = 4
    note: str = field(default="", compare=False)
    source: str = field(default="page", repr=False)


def standard(**options: Any) -> Any:
    """The same class by the standard decorator."""
    plain = {name: getattr(Size, name) for name in ("__annotations__", "__module__")}
    note = dataclasses.field(default="", compare=False)
    body = {"note": note, "source": dataclasses.field(default="page", repr=False)}
    made = type("Size", (), {**plain, "cores": 4, **body})
    return dataclasses.dataclass(**options)(made)


SIZES = [("a",), ("a", 4, "seen"), ("a", 5), ("b",), ("a", 4, "", "book")]


@pytest.mark.parametrize("left", SIZES)
@pytest.mark.parametrize("right", SIZES)
def test_two_are_equal_where_the_standard_library_says_so(left: Any, right: Any) -> None:
    usual = standard(frozen=True)
    assert (Size(*left) == Size(*right)) == (usual(*left) == usual(*right))
    assert Size(*left) != usual(*left)
    if Size(*left) == Size(*right):
        assert hash(Size(*left)) == hash(Size(*right))


@pytest.mark.parametrize("values", SIZES)
def test_one_is_shown_as_the_standard_library_shows_it(values: Any) -> None:
    assert repr(Size(*values)) == repr(standard(frozen=True)(*values))


def test_it_is_copied_replaced_and_taken_apart() -> None:
    size = Size("a", 8)
    assert copy.deepcopy(size) == copy.copy(size) == pickle.loads(pickle.dumps(size)) == size
    assert replace(size, cores=2) == Size("a", 2)
    assert asdict(size) == {"name": "a", "cores": 8, "note": "", "source": "page"}
    assert [slot.name for slot in fields(Size)] == list(Size.__slots__)


def test_the_standard_library_takes_one_for_a_dataclass() -> None:
    size = Size("a", 8)
    assert dataclasses.is_dataclass(size)
    assert dataclasses.fields(Size) == fields(Size)
    assert dataclasses.replace(size, cores=2) == replace(size, cores=2)
    assert dataclasses.asdict(size) == asdict(size)


def test_a_field_has_its_default_and_a_required_one_has_none() -> None:
    name, cores, *_ = fields(Size)
    assert name.default is name.default_factory is MISSING
    assert (cores.name, cores.type, cores.default) == ("cores", "int", 4)


def test_what_is_replaced_must_be_a_field_that_can_be_given() -> None:
    with pytest.raises(TypeError, match="total"):
        replace(Part("a", [1]), total=2)
    assert replace(Part("a", [1]), sizes=[3]).total == 3


def test_values_are_matched_by_position() -> None:
    match Size("a", 8):
        case Size(name, cores):
            assert (name, cores) == ("a", 8)
    assert Part.__match_args__ == ("name", "sizes")


def test_only_what_is_frozen_has_a_hash() -> None:
    @dataclass
    class Open:
        value: int

    @dataclass(eq=False)
    class Itself:
        value: int

    with pytest.raises(TypeError, match="unhashable"):
        hash(Open(1))
    assert Open(1) == Open(1)
    assert len({Itself(1), Itself(1)}) == 2


def test_methods_of_the_class_itself_stay() -> None:
    @dataclass(frozen=True, slots=True)
    class Loose:
        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Loose) and other.name.casefold() == self.name.casefold()

        def __hash__(self) -> int:
            return hash(self.name.casefold())

        def __repr__(self) -> str:
            return self.name

    assert Loose("A") == Loose("a")
    assert len({Loose("A"), Loose("a")}) == 1
    assert repr(Loose("A")) == "A"


def test_one_that_holds_itself_is_shown() -> None:
    @dataclass
    class Node:
        inner: Any = None

    node = Node()
    node.inner = node
    assert repr(node).endswith("Node(inner=...)")


def test_one_without_fields_equals_another() -> None:
    @dataclass(frozen=True)
    class Nothing:
        pass

    assert Nothing() == Nothing()
    assert {Nothing(): 1}[Nothing()] == 1


@dataclass(slots=True)
class Part:
    name: str
    sizes: list[int] = field(default_factory=list)
    total: int = field(init=False)
    unit: str = field(default="GB", kw_only=True)

    def __post_init__(self) -> None:
        self.total = sum(self.sizes)


@dataclass(slots=True)
class Whole(Part):
    owner: str = field(kw_only=True)


@pytest.mark.parametrize("_", range(20))
def test_an_instance_is_made_as_the_standard_library_makes_it(_: int) -> None:
    first, second = Part("a"), Part("b", [1, 2], unit="TB")
    assert (first.sizes, first.total, first.unit) == ([], 0, "GB")
    assert (second.sizes, second.total, second.unit) == ([1, 2], 3, "TB")
    assert first.sizes is not Part("a").sizes
    assert Whole("c", [5], owner="d").total == 5


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        (("a", [], "GB"), {}),
        (("a",), {"name": "b"}),
        (("a",), {"owner": "d"}),
        (("a",), {"total": 2}),
    ],
)
def test_what_does_not_fit_the_fields_is_refused(values: Any, named: Any) -> None:
    for _ in range(20):  # the first instances, and every other
        with pytest.raises(TypeError, match=r"Part\.__init__\(\)"):
            Part(*values, **named)


def test_the_initializer_is_compiled_once_there_are_many_instances() -> None:
    @dataclass
    class Late:
        value: int

    assert Late(1).value == Late(value=1).value == 1
    assert not inspect.isfunction(vars(Late)["__init__"])
    assert [Late(value).value for value in range(20)] == [*range(20)]
    assert inspect.isfunction(vars(Late)["__init__"])


def test_help_shows_the_fields_before_there_is_an_instance() -> None:
    @dataclass(frozen=True, slots=True)
    class Base:
        value: int

    @dataclass(frozen=True, slots=True)
    class More(Base):
        label: str = "none"
        tags: list[str] = field(default_factory=list)

    assert str(inspect.signature(More)) == (
        "(value: 'int', label: 'str' = 'none', tags: 'list[str]' = <factory>)"
    )
    assert get_type_hints(More.__init__) == {"value": int, "label": str, "tags": list[str]}
    assert "value: 'int'" in pydoc.plain(pydoc.render_doc(Base))
    assert More.__init__.__module__ == __name__  # pydoc of Python 3.13 reads it
    assert More.__init__.__qualname__ == f"{More.__qualname__}.__init__"


def test_a_class_with_an_initializer_of_its_own_calls_that_of_its_base() -> None:
    @dataclass
    class Base:
        value: int

    class Twice(Base):
        def __init__(self, value: int) -> None:
            super().__init__(2 * value)

    assert (Twice(2).value, Twice(3).value, Base(1).value) == (4, 6, 1)

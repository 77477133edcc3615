"""Where files say what the service refuses: what it says of a property gets the field's place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mlctl.applying.events import StepEvent
from mlctl.kinds.address import Address
from mlctl.kinds.property_names import field_of
from mlctl.kinds.resource import Resource
from mlctl.pointer import dotted
from mlctl.render.findings.positions import place
from mlctl.service_errors import PropertyError


def with_places(
    events: Iterable[StepEvent], resources: Mapping[Address, Resource]
) -> Iterator[StepEvent]:
    """The events, with the places of the properties that their errors are about.

    `resources` are those that files declare. A field that the file leaves out has the place of its
    document.
    """
    for event in events:
        resource = resources.get(event.step.change)
        if event.error is not None and resource is not None:
            event.error.properties = tuple(
                _placed(error, resource) for error in event.error.properties
            )
        yield event


def _placed(error: PropertyError, resource: Resource) -> PropertyError:
    field = field_of(resource.form, error.name)
    if field is None:
        return error
    label = resource.label(field.at, key=resource.get(*map(str, field.at)) is None)
    return PropertyError(dotted(field.at), error.message, place(label.span))

"""Names of properties in the service's answers, and the fields that they mean."""

from __future__ import annotations

import pytest

from mlctl.kinds import KINDS
from mlctl.kinds.property_names import field_of


@pytest.mark.parametrize(
    ("kind", "name", "field"),
    [
        ("batch-deployment", "ModelConfiguration.ModelReference", "model"),
        ("batch-deployment", "CodeConfiguration.CodeId", "code_configuration.code"),
        ("batch-deployment", "RetrySettings.Timeout", "retry_settings.timeout"),
        ("batch-deployment", "Compute.Target", "compute"),
        ("batch-deployment", "Resources[0].InstanceCount", "resources.instance_count"),
        ("batch-endpoint", "location", "location"),
        ("compute", "Properties.ScaleSettings.MaxNodeCount", "max_instances"),
    ],
)
def test_a_property_name_means_the_field_of_its_last_part(kind: str, name: str, field: str) -> None:
    found = field_of(KINDS[kind].forms[-1], name)
    assert found is not None
    assert ".".join(map(str, found.at)) == field


@pytest.mark.parametrize("name", ["", "Nope", "...", "Id", "provisioningState", "[]"])
def test_a_name_that_no_field_has_means_none(name: str) -> None:
    assert field_of(KINDS["batch-endpoint"].forms[-1], name) is None

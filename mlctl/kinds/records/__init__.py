"""The kinds, one module each. Their order is that of lists and help."""

from __future__ import annotations

from mlctl.kinds.kind import Kind
from mlctl.kinds.records.batch_deployment import BATCH_DEPLOYMENT
from mlctl.kinds.records.batch_endpoint import BATCH_ENDPOINT
from mlctl.kinds.records.batch_pool import BATCH_POOL
from mlctl.kinds.records.code import CODE
from mlctl.kinds.records.component import COMPONENT
from mlctl.kinds.records.compute import COMPUTE
from mlctl.kinds.records.data import DATA
from mlctl.kinds.records.environment import ENVIRONMENT
from mlctl.kinds.records.job import JOB
from mlctl.kinds.records.model import MODEL
from mlctl.kinds.records.online_deployment import ONLINE_DEPLOYMENT
from mlctl.kinds.records.online_endpoint import ONLINE_ENDPOINT
from mlctl.kinds.records.undeclared import COMPUTE_INSTANCE, SCHEDULE

RECORDS: tuple[Kind, ...] = (
    COMPUTE,
    BATCH_ENDPOINT,
    BATCH_DEPLOYMENT,
    ONLINE_ENDPOINT,
    ONLINE_DEPLOYMENT,
    MODEL,
    ENVIRONMENT,
    DATA,
    COMPONENT,
    CODE,
    BATCH_POOL,
    JOB,
    COMPUTE_INSTANCE,
    SCHEDULE,
)

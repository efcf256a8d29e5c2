"""What our client demands of an answer is no more than is published of it."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from prime_cli.wire import accounts, disks, evaluations, offers, pods, sandboxes, secrets, ssh_keys
from tests.published.notation import COMPUTE, HUB, Schema, published

TABLES = (*COMPUTE, *(name for name in HUB if name != "shared"), "sandboxes")
READ: dict[str, type[msgspec.Struct]] = {
    "APIDeletePodResponse": pods.Ended,
    "APIDiskConfig": disks.Disk,
    "APIPodConfig": pods.Pod,
    "APIPodStatusResponse": pods.PodState,
    "APISSHKeyConfig": ssh_keys.SshKey,
    "AttachedResources": pods.Attached,
    "AvailabilityResponse": offers.OfferPage,
    "BulkDeleteSandboxResponse": sandboxes.SandboxesDeleted,
    "CreateEvaluationResponse": evaluations.EvaluationTicket,
    "DiskAvailability": offers.DiskOffer,
    "DiskAvailabilityResponse": offers.DiskOfferPage,
    "DiskPage": disks.DiskPage,
    "FinalizeEvaluationResponse": evaluations.FinalizeResult,
    "GetEvaluationResponse": evaluations.EvaluationDetail,
    "GetSamplesResponse": evaluations.SamplePage,
    "GpuAvailability": offers.GpuOffer,
    "HistoryObj": pods.PastPod,
    "HistoryPage": pods.PastPage,
    "InstanceResources": pods.Resources,
    "PodPage": pods.PodPage,
    "PodStatuses": pods.PodStates,
    "PortMapping": pods.PortMapping,
    "Prices": offers.Prices,
    "SSHKeyPage": ssh_keys.SshKeyPage,
    "SandboxAuthResponse": sandboxes.SandboxAuth,
    "SandboxErrorContextResponse": sandboxes.ErrorContext,
    "SandboxListResponse": sandboxes.SandboxPage,
    "SandboxLogsResponse": sandboxes.SandboxLogs,
    "SandboxResponse": sandboxes.Sandbox,
    "SecretResponse": secrets.Secret,
    "TeamMemberDetail": accounts.Member,
    "TeamMemberPage": accounts.MemberPage,
    "TeamPage": accounts.TeamPage,
    "TeamSummary": accounts.Team,
    "WhoamiResponse": accounts.Account,
}
"""The struct that reads each; what is in no answer to us, or read as plain JSON, has none."""

PLAIN = {
    # Nothing of the answer is read, or each field by itself.
    *("APISSHKeyUpdateResponseConfig", "DeleteSandboxResponse", "PushSamplesResponse"),
    *("UpdateEvaluationResponse", "BulkDeleteEvaluationsResponse"),
    *("GetHostedEvaluationLogsResponse", "ListEvaluationsResponse", "SecretPage"),
    # An envelope.
    *("SecretReply", "WhoamiReply", "UserReply"),
    # Not asked for, or not shown.
    *("User", "PermissionType", "CustomSpecValue", "InstanceCountPricing", "PricingInfo"),
}


def _named(schema: Any) -> Iterator[str]:
    """The schemas that `schema` refers to, itself and through others."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for each in schema.values():
            yield from _named(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _named(each)


def _answered() -> set[str]:
    """The objects of all answers."""
    schemas = published(TABLES).schemas
    found: set[str] = set()
    addresses = published(TABLES).addresses
    left = {name for each in addresses for name in _named(each.gives)}
    while left:
        name = left.pop()
        found.add(name)
        left |= set(_named(schemas[name])) - found
    return {name for name in found if "properties" in schemas[name]}


def _required(schema: Schema) -> set[str]:
    """Names that are there and not null: ours are read with nulls left out, too."""
    properties = schema["properties"]
    return {name for name in schema["required"] if not _may_be_null(properties[name])}


def _may_be_null(schema: Schema) -> bool:
    return {"type": "null"} in schema.get("anyOf", ())


def test_every_object_of_an_answer_is_read_by_a_struct_or_left_alone_on_purpose() -> None:
    assert _answered() == READ.keys() | PLAIN


@pytest.mark.parametrize("name", READ)
def test_a_struct_demands_no_more_than_is_published(name: str) -> None:
    fields = msgspec.structs.fields(READ[name])
    demanded = {field.encode_name for field in fields if field.required}
    nullable = {field.encode_name for field in fields if _takes_null(field.type)}
    schema = published(TABLES).schemas[name]
    assert demanded - _required(schema) - nullable.intersection(schema["required"]) == set()


def _takes_null(kind: Any) -> bool:
    try:
        msgspec.convert(None, kind)
    except msgspec.ValidationError:
        return False
    return True

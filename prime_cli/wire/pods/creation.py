"""Asking for a pod."""

import msgspec


class Variable(msgspec.Struct, forbid_unknown_fields=True):
    """An environment variable of a pod."""

    key: str
    value: str


class PodRequest(msgspec.Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """`PodRequestConfig`: which offer, and how much of what it leaves open (GB, vCPUs)."""

    cloud_id: str
    gpu_type: str
    gpu_count: int
    socket: str | None = None
    name: str | None = None
    disk_size: int | None = None
    vcpus: int | None = None
    memory: int | None = None
    max_price: float | None = None
    image: str | None = None
    custom_template_id: str | None = None
    data_center_id: str | None = None
    country: str | None = None
    security: str | None = None
    env_vars: list[Variable] = []
    jupyter_password: str | None = None
    ssh_key_id: str | None = None
    auto_restart: bool = False
    prepaid_for_hr: float | None = None


class ProviderChoice(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Whose offer is meant."""

    type: str | None = None


class TeamChoice(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The team that a pod is for."""

    team_id: str


class PodCreation(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """`POST /pods`.

    Sharing has two spellings: the published schema says `shared_with_team`, official clients send
    `sharedWithTeam`. `stop_at` (ISO 8601) and `nodes` are ours, see FEATURE.
    """

    pod: PodRequest
    provider: ProviderChoice = msgspec.field(default_factory=ProviderChoice)
    disks: list[str] = []
    team: TeamChoice | None = None
    team_member_ids: list[str] = []
    shared_with_team: bool = False
    members_in_camel: list[str] = msgspec.field(name="teamMemberIds", default_factory=list)
    shared_in_camel: bool = msgspec.field(name="sharedWithTeam", default=False)
    stop_at: str | None = msgspec.field(name="stopAt", default=None)
    nodes: int = 1

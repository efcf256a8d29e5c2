"""Which weights answer the policy's calls: where they are, and how they sample."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Call, CallFailed, CallIdentity

RolloutKey = tuple[int, int]


@dataclass(frozen=True)
class Policy:
    """Weights of a `version` at an `endpoint`; None is that of the run.

    `sampling` replaces the environment's. What is not to `record` passes unchanged.
    """

    endpoint: Endpoint | None = None
    sampling: Mapping[str, Any] = field(default_factory=dict)
    version: int = 0
    record: bool = True


class PolicyChanged(CallFailed):
    """Before it was sent, a call's policy got another sampling than the call has."""

    def __init__(self) -> None:
        super().__init__(
            "The policy samples otherwise now", status=503, blame="infra", code="policy_changed"
        )


@dataclass
class PolicyChoice:
    """The policy for a call, which may be another one each time the call is sent."""

    policy: Policy


_choice: ContextVar[PolicyChoice | None] = ContextVar("policy_choice", default=None)


@contextmanager
def choice_for_call(policy: Policy) -> Iterator[PolicyChoice]:
    """Inside, a call made for `policy` is sent: the choice holds the one that it was sent to."""
    choice = PolicyChoice(policy)
    token = _choice.set(choice)
    try:
        yield choice
    finally:
        _choice.reset(token)


class Policies:
    """The current policy, and those of rollouts that have one of their own.

    `sampling` is what a policy uses that says nothing else.
    """

    def __init__(
        self, current: Policy | None = None, sampling: Mapping[str, Any] | None = None
    ) -> None:
        self.sampling = {} if sampling is None else sampling
        self._current = current
        self._own: dict[RolloutKey, Policy] = {}
        self._known = asyncio.Event()

    @property
    def current(self) -> Policy | None:
        """The policy of all other rollouts; None before there is one."""
        return self._current

    def set_current(self, policy: Policy) -> None:
        """Answer calls with `policy` from now on, also those that wait for one."""
        self._current = policy
        self._known.set()

    def set_own(self, example: int, rollouts: Iterable[int], policy: Policy) -> None:
        """Answer the calls of these rollouts with `policy`, until they are forgotten."""
        self._own.update({(example, rollout): policy for rollout in rollouts})

    def forget(self, example: int, rollout: int) -> None:
        """The rollout is over."""
        self._own.pop((example, rollout), None)

    async def of(self, identity: CallIdentity) -> Policy:
        """The policy for a call; waits until there is one."""
        own = self._of_rollout(identity)
        while own is None and self._current is None:
            await self._known.wait()
        found = own or self._current
        assert found is not None  # noqa: S101 - the loop above ends with one
        return found

    def endpoint_of(self, call: Call) -> Endpoint | None:
        """Where a policy's call goes now; None for the endpoint of the run.

        Raises PolicyChanged if the call has to be made anew for it.
        """
        policy = self._of_rollout(call.identity) or self._current
        if policy is None:
            raise CallFailed("There is no policy yet", status=503, blame="infra", code="no_policy")
        choice = _choice.get()
        if choice is not None:
            if choice.policy.sampling != policy.sampling:
                raise PolicyChanged
            choice.policy = policy
        return policy.endpoint

    def _of_rollout(self, identity: CallIdentity) -> Policy | None:
        if identity.example is None or identity.rollout is None:
            return None
        return self._own.get((identity.example, identity.rollout))

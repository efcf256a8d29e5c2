"""Counting what each rollout used, by role."""

from http import HTTPStatus

from prime_cli.models.gateway.calls import Call, CallFailed, Handler, Reply
from prime_cli.models.gateway.identity import Identity
from prime_cli.models.gateway.shapes import Answer, read_answer
from prime_cli.models.gateway.streams import count_stream
from prime_cli.models.usage import Usage

_CHOICES = ("chat/completions", "completions")
_COUNTED = (*_CHOICES, "responses", "embeddings")


class Ledger:
    """The step that reads answers: it counts their usage and refuses nonsense."""

    def __init__(self) -> None:
        self._used: dict[Identity, Usage] = {}

    def used_by(self, example: int, rollout: int, attempt: int, role: str | None) -> Usage:
        """What one attempt used in one role, or in all roles together."""
        if role is not None:
            return self._used.get(Identity(example, rollout, attempt, role), Usage())
        mine = (
            usage
            for identity, usage in self._used.items()
            if identity[:3] == (example, rollout, attempt)
        )
        return sum(mine, Usage())

    def by_role(self) -> dict[str, Usage]:
        """What the whole run used so far, by role."""
        totals: dict[str, Usage] = {}
        for identity, usage in self._used.items():
            totals[identity.role] = totals.get(identity.role, Usage()) + usage
        return totals

    def total(self) -> Usage:
        """What the whole run used so far."""
        return sum(self._used.values(), Usage())

    def add(self, identity: Identity, usage: Usage) -> None:
        """Count one call."""
        self._used[identity] = self._used.get(identity, Usage()) + usage

    async def read_answers(self, call: Call, handler: Handler) -> Reply:
        """Count the call; raises CallFailed where a 200 holds no completion."""
        reply = await handler(call)
        if call.method != "POST" or reply.status != HTTPStatus.OK or call.path not in _COUNTED:
            return reply
        if reply.chunks is not None:
            reply.chunks = count_stream(
                reply.chunks, lambda answer: self._count(call.identity, answer, reply)
            )
            return reply
        answer = read_answer(reply.body)
        self._count(call.identity, answer, reply)
        if call.path in _CHOICES and (answer is None or not answer.choices):
            raise _nonsense(call, reply.body)
        return reply

    def _count(self, identity: Identity, answer: Answer | None, reply: Reply) -> None:
        usage = None if answer is None else answer.any_usage
        if usage is None:
            self.add(identity, Usage(calls=1, uncounted=1))
        else:
            self.add(identity, usage.to_usage(estimated=reply.estimated))


def _nonsense(call: Call, body: bytes) -> CallFailed:
    shown = body[:80].decode("utf-8", "replace")
    return CallFailed(
        f"The endpoint of `{call.head.model}` answered 200 without a completion: {shown!r}",
        status=502,
        blame="model",
        code="nonsense_answer",
    )

"""The step that answers a call as it was answered before."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from http import HTTPStatus
from typing import Any

import msgspec

from prime_cli.core.digests import digest_bytes
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.cache.store import SCHEMA, Kept, ResponseStore
from prime_cli.models.gateway.calls import Call, Handler, Reply
from prime_cli.models.gateway.identity import Identity
from prime_cli.models.gateway.streams import split_events

_PATHS = ("chat/completions", "completions", "embeddings")
"""Not the Responses API: what it answers may be gone on with at the endpoint, by its id."""

_UNSAID = ("model", "stream_options")
"""Members of a request that do not decide the answer, or are told by the endpoint."""

_DONE = b"data: [DONE]"
_TAIL = 64
"""Bytes at the end of a stream in which that is found."""
_MOST_COUNTED = 50_000
"""Requests of which it is known how often a rollout made them: those of far more than run."""


class ResponseCache:
    """Keeps answers with status 200 that came whole, and gives them to who asks the same again.

    The same is: endpoint and model, path, every member of the request, the index of the rollout,
    and how often this rollout has asked before. So rollouts stay different from each other, and
    so do several samples that one of them draws. `count` is told of each call answered so.
    """

    def __init__(
        self,
        store: ResponseStore,
        group_of: Callable[[str | None], tuple[Endpoint, ...]],
        count: Callable[[Identity, str | None], None],
    ) -> None:
        self._store = store
        self._group_of = group_of
        self._count = count
        self._asked: OrderedDict[tuple[Identity, str], int] = OrderedDict()

    async def answer(self, call: Call, handler: Handler) -> Reply:
        """The step; raises what `handler` raises."""
        key = self._key(call)
        if key is None:
            return await handler(call)
        kept = self._store.get(key)
        if kept is not None:
            self._count(call.identity, call.head.model)
            return _reply(kept)
        reply = await handler(call)
        if reply.status != HTTPStatus.OK:
            return reply
        if reply.chunks is not None:
            reply.chunks = self._recorded(reply.chunks, key, call, reply)
        else:
            self._keep(key, call, reply, body=reply.body)
        return reply

    def _key(self, call: Call) -> str | None:
        if call.method != "POST" or call.path not in _PATHS:
            return None
        try:
            asked = msgspec.json.decode(call.body, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        group = self._group_of(call.head.model)
        if any(member.builtin for member in group):
            return None
        for name in _UNSAID:
            asked.pop(name, None)
        told = {
            "schema": SCHEMA,
            "endpoints": sorted((member.address, member.model) for member in group),
            "path": call.path,
            "query": call.query,
            "rollout": call.identity.rollout,
            "request": asked,
        }
        same = _digest(told)
        return _digest([same, self._times(call.identity, same)])

    def _times(self, identity: Identity, same: str) -> int:
        """How often this rollout has asked the same before."""
        place = (identity, same)
        times = self._asked.pop(place, 0)
        self._asked[place] = times + 1
        if len(self._asked) > _MOST_COUNTED:
            self._asked.popitem(last=False)
        return times

    async def _recorded(
        self, chunks: AsyncGenerator[bytes, None], key: str, call: Call, reply: Reply
    ) -> AsyncGenerator[bytes, None]:
        """The same bytes; kept once the stream says that it is done."""
        read, is_done = bytearray(), False
        async with aclosing(chunks):
            async for chunk in chunks:
                read += chunk
                if not is_done and bytes(read[-_TAIL:]).rstrip().endswith(_DONE):
                    is_done = True
                    # Before the caller has it: who reads that does not wait for anything more.
                    self._keep_stream(key, call, reply, bytes(read))
                yield chunk

    def _keep_stream(self, key: str, call: Call, reply: Reply, content: bytes) -> None:
        events = [event for event in split_events(content) if event.strip()]
        if not any(map(_is_error, events)):
            self._keep(key, call, reply, events=events)

    def _keep(
        self,
        key: str,
        call: Call,
        reply: Reply,
        *,
        body: bytes | None = None,
        events: Iterable[bytes] | None = None,
    ) -> None:
        try:
            kept = Kept(
                schema=SCHEMA,
                model=call.head.model or "",
                content_type=reply.headers.get("content-type", "application/json"),
                body=None if body is None else body.decode(),
                events=None if events is None else [event.decode() for event in events],
            )
        except UnicodeDecodeError:
            return
        self._store.put(key, kept)


def _reply(kept: Kept) -> Reply:
    headers = {"content-type": kept.content_type}
    if kept.events is not None:
        return Reply(HTTPStatus.OK, headers=headers, chunks=_events(kept.events))
    return Reply(HTTPStatus.OK, (kept.body or "").encode(), headers)


async def _events(events: Iterable[str]) -> AsyncGenerator[bytes, None]:
    for event in events:
        yield event.encode() + b"\n\n"


def _is_error(event: bytes) -> bool:
    if b'"error"' not in event:
        return False
    try:
        said = msgspec.json.decode(event.partition(b":")[2], type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return True
    return "error" in said


def _digest(value: object) -> str:
    return digest_bytes(msgspec.json.encode(value, order="deterministic"))

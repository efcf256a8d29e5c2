"""Completions kept between runs: the store on disk, and the step that answers from it.

A response is one file: `<folder>/<2 hex digits>/<62 hex digits>.json`.
"""

import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.digests import digest_bytes
from prime_cli.core.paths import make_folder, open_descriptor
from prime_cli.models.endpoints import Endpoint
from prime_cli.models.gateway.calls import Call, CallIdentity, Handler, Reply
from prime_cli.models.gateway.streams import split_events

MOST_BYTES = 2 * 1024**3
"""Maximum total size of answers; beyond it the least recently used are dropped."""

SCHEMA = 1
_ROOM = 0.9
"""The share of `MOST_BYTES` kept when answers have to be dropped."""


class CachedCompletion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer with status 200: a `body`, or the `events` of a stream, each without its end."""

    schema: int
    model: str
    content_type: str
    body: str | None = None
    events: list[str] | None = None


_decoder = msgspec.json.Decoder(CachedCompletion)


class CompletionStore:
    """Answers by the digest of the request; an answer that contains a secret is not kept.

    `scrub` removes secrets from bytes. If the disk is not writable, `trouble` reports it and
    nothing more is kept.
    """

    def __init__(
        self, folder: Path, scrub: Callable[[bytes], bytes], *, most_bytes: int = MOST_BYTES
    ) -> None:
        self.trouble: str | None = None
        self._folder = folder
        self._scrub = scrub
        self._most_bytes = most_bytes
        self._written = 0
        self._pruning = threading.Lock()

    def open(self) -> None:
        """Create the folder, accessible only by its owner; raises StorageFailed."""
        make_folder(self._folder)

    def get(self, key: str) -> CachedCompletion | None:
        """The answer under `key`; None too for one torn by a crash."""
        path = self._path(key)
        try:
            content = path.read_bytes()
            kept = _decoder.decode(content)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if kept.schema != SCHEMA:
            return None
        with suppress(OSError):  # only the order of dropping depends on it
            os.utime(path)
        return kept

    def put(self, key: str, kept: CachedCompletion) -> None:
        """Store an answer, whole or not at all."""
        said = "".join([kept.body or "", *(kept.events or [])]).encode()
        if self.trouble is not None or self._scrub(said) != said:
            return
        content = msgspec.json.encode(kept)
        path = self._path(key)
        aside = path.with_name(f".{secrets.token_hex(6)}.tmp")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Not synced: a file torn by a crash is not JSON, and counts as missing.
            with os.fdopen(open_descriptor(aside, os.O_WRONLY | os.O_CREAT), "wb") as file:
                file.write(content)
            aside.replace(path)
        except OSError as error:
            self.trouble = error.strerror or str(error)
            with suppress(OSError):
                aside.unlink(missing_ok=True)
            return
        self._written += len(content)
        if self._written > self._most_bytes // 10:
            self._written = 0
            threading.Thread(target=self.prune, name="prune-responses", daemon=True).start()

    def prune(self) -> None:
        """Drop the least recently used until the rest fits."""
        with self._pruning:
            found = sorted(self._files())
            size = sum(length for _, length, _ in found)
            if size <= self._most_bytes:
                return
            for _, length, path in found:
                if size <= self._most_bytes * _ROOM:
                    return
                with suppress(OSError):  # another process may have been faster
                    Path(path).unlink()
                    size -= length

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """(last use, bytes, path) of each file, including leftovers of a crash."""
        with suppress(OSError), os.scandir(self._folder) as shards:
            for shard in shards:
                with suppress(OSError), os.scandir(shard.path) as files:
                    for file in files:
                        facts = file.stat()
                        yield facts.st_mtime, facts.st_size, file.path

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"


_PATHS = ("chat/completions", "completions", "embeddings")
"""Not the Responses API: its answers can be continued at the endpoint, by id."""

_UNSAID = ("model", "stream_options")
"""Members of a request that do not affect the answer, or that the endpoint sets."""

_DONE = b"data: [DONE]"
_TAIL = 64
"""Bytes at the end of a stream in which that is found."""
_MOST_COUNTED = 50_000
"""Requests of which it is known how often a rollout made them: those of far more than run."""


class CompletionCache:
    """Caches complete answers with status 200, and returns them for equal requests.

    Equal means: endpoint and model, path, every member of the request, the index of the rollout,
    and how often this rollout has made it before. So rollouts stay different from each other, and
    so do several samples drawn by one. `count` is called for each call answered this way.
    """

    def __init__(
        self,
        store: CompletionStore,
        group_of: Callable[[str | None], tuple[Endpoint, ...]],
        count: Callable[[CallIdentity, str | None], None],
    ) -> None:
        self._store = store
        self._group_of = group_of
        self._count = count
        self._asked: OrderedDict[tuple[CallIdentity, str], int] = OrderedDict()

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

    def _times(self, identity: CallIdentity, same: str) -> int:
        """How often this rollout has made the same request before."""
        place = (identity, same)
        times = self._asked.pop(place, 0)
        self._asked[place] = times + 1
        if len(self._asked) > _MOST_COUNTED:
            self._asked.popitem(last=False)
        return times

    async def _recorded(
        self, chunks: AsyncGenerator[bytes, None], key: str, call: Call, reply: Reply
    ) -> AsyncGenerator[bytes, None]:
        """The same bytes; stored once the stream reports its end."""
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
            kept = CachedCompletion(
                schema=SCHEMA,
                model=call.head.model or "",
                content_type=reply.headers.get("content-type", "application/json"),
                body=None if body is None else body.decode(),
                events=None if events is None else [event.decode() for event in events],
            )
        except UnicodeDecodeError:
            return
        self._store.put(key, kept)


def _reply(kept: CachedCompletion) -> Reply:
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

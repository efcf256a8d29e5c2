"""The policy as a server, in vLLM's dialect of chat completions; on loopback, unless prime names
another address of this machine.

HTTP has a thread of its own; a `Sampler` works on the thread that calls `pump`, so that only one
ever touches the model. A conversation continues with the very tokens that were sampled: only what
is new in it is tokenized, so that a rollout of several turns stays one row.
"""

import asyncio
import hmac
import itertools
import os
import queue
import secrets
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from aiohttp import web

from .answers import Answers, events_of
from .conversations import Conversations
from .failures import Stopped
from .sampling import Answer, Sampler, TooLong, Wanted
from .tools import require_tools, template_of, with_objects

_LARGEST_REQUEST = 64 << 20
_QUIET = 0.02
_MOST_TOGETHER = 128
_Call = tuple[Wanted, "Future[Answer]"]


class Policy:
    """The endpoint, which answers those who have its `key`; `waited` and `generated` are seconds,
    `tokens` counts what was sampled.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        seed: int,
        most: int,
        ends: Sequence[int] | None = None,
        kind: str | None = None,
    ) -> None:
        """`kind` is the model's `model_type`."""
        self.url, self.key = "", secrets.token_urlsafe(32)
        self.waited = self.generated = 0.0
        self.tokens = 0
        self._phase, self._as_served = "", False
        self._tokenizer, self._seed, self._most = tokenizer, seed, most
        self.conversations = Conversations(tokenizer, ends, chat_template=template_of(tokenizer))
        self._served = Conversations(tokenizer, ends)
        self._answers, self._has_tools = Answers(tokenizer, kind), False
        self._refused: Stopped | None = None
        self._calls: queue.Queue[_Call] = queue.Queue()
        self._numbers = itertools.count()
        self._open: dict[int, Future[Answer]] = {}
        self._same: Counter[str] = Counter()
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True).start()
        ready.wait()

    def begin(self, phase: str, *, as_served: bool = False) -> None:
        """From now on calls belong to `phase`, such as a step: part of their seeds.

        `as_served` they see what the model's own chat template renders, as from any server: it is
        saved with the model.
        """
        self._phase, self._as_served = phase, as_served
        self.conversations.forget()
        self._same.clear()

    def pump(self, sampler: Sampler, until: Callable[[], bool]) -> None:
        """Answer calls on this thread until `until()` is true; raises Stopped for tools that no
        answer can call.
        """
        with sampler.awake():
            try:
                while self._refused is None and not until():
                    self._go_on(sampler)
            finally:
                self._give_up(sampler)
        if self._refused is not None:
            raise self._refused

    def _go_on(self, sampler: Sampler) -> None:
        began = time.perf_counter()
        # Whoever works already need not wait for calls that come together.
        for wanted, future in self._come(0.0 if self._open else _QUIET):
            number = next(self._numbers)
            try:
                sampler.take(number, wanted)
            except TooLong as error:
                future.set_exception(error)
            else:
                self._open[number] = future
        taken = time.perf_counter()
        self.waited += taken - began
        if self._open:
            for number, answer in sampler.work():
                self.tokens += len(answer.ids)
                self._open.pop(number).set_result(answer)
            self.generated += time.perf_counter() - taken

    def _come(self, quiet: float) -> list[_Call]:
        """The calls that come with less than `quiet` seconds between them."""
        calls: list[_Call] = []
        with suppress(queue.Empty):
            while len(calls) < _MOST_TOGETHER:
                calls.append(self._calls.get(block=quiet > 0, timeout=quiet))
        return calls

    def _give_up(self, sampler: Sampler) -> None:
        """Forget what is left: their rollouts have ended without waiting for it."""
        sampler.drop(self._open)
        for future in self._open.values():
            future.set_exception(RuntimeError("the policy answers no more calls"))
        self._open.clear()

    # --- HTTP ---

    async def _serve(self, ready: threading.Event) -> None:
        app = web.Application(client_max_size=_LARGEST_REQUEST)
        app.add_routes([web.post("/v1/chat/completions", self._chat)])
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        address = os.environ.get("PRIME_ADDRESS", "127.0.0.1")
        await web.TCPSite(runner, address, 0).start()
        self.url = f"http://{address}:{runner.addresses[0][1]}/v1"
        ready.set()
        await asyncio.Event().wait()

    async def _chat(self, request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, f"Bearer {self.key}".encode()):
            return _refusal("this policy only answers who has its key", status=401)
        body = await request.json()
        tools = body.get("tools") or None
        if tools and not self._has_tools:
            try:
                require_tools(self._tokenizer, self._answers)
            except ValueError as error:
                return self._refuse_tools(error)
            self._has_tools = True
        messages, who = with_objects(body["messages"]), str(body.get("user") or "")
        template = body.get("chat_template_kwargs") or {}
        talks = self._served if self._as_served else self.conversations
        ids = talks.prompt(messages, tools, who, **template)
        temperature = body.get("temperature")
        most = body.get("max_completion_tokens") or body.get("max_tokens") or self._most
        future: Future[Answer] = Future()
        wanted = Wanted(
            ids,
            int(most),
            1.0 if temperature is None else float(temperature),
            self._seed_of(ids, who),
            _stops_in(body),
        )
        self._calls.put((wanted, future))
        try:
            answer = await asyncio.wrap_future(future)
        except TooLong as error:
            return _refusal(str(error))
        said = self._answers.message(ids, answer.ids, tools, answer.stop)
        if who and not self._as_served:
            (shown,) = with_objects([said])
            self.conversations.remember(
                messages,
                shown,
                who,
                (ids, answer.ids),
                tools=tools,
                is_whole=answer.stop is None,
                **template,
            )
        return _respond(body, _completion(body, ids, answer, said))

    def _refuse_tools(self, error: ValueError) -> web.Response:
        """End the training: every call of the environment would be refused alike."""
        sentence = f"The environment has tools, which the model cannot call: {error}"
        hint = "train a model whose chat template has tools, such as Qwen/Qwen3-0.6B"
        self._refused = Stopped("usage", sentence, hint)
        return _refusal(sentence)

    def _seed_of(self, ids: list[int], who: str) -> str:
        same = f"{self._seed} {self._phase} {who} {ids}"
        self._same[same] += 1
        return f"{same} {self._same[same]}"


def _refusal(sentence: str, status: int = 400) -> web.Response:
    return web.json_response({"error": {"message": sentence}}, status=status)


def _stops_in(body: dict[str, Any]) -> tuple[str, ...]:
    found = body.get("stop") or ()
    return (found,) if isinstance(found, str) else tuple(each for each in found if each)


def _not_done(body: dict[str, Any]) -> list[str]:
    """What a server would have done that was asked for, and this one does not."""
    same: dict[str, Any] = {"tool_choice": "auto", "response_format": {"type": "text"}}
    names = (*same, "bad_words", "logit_bias")
    return [name for name in names if body.get(name) and body[name] != same.get(name)]


def _respond(body: dict[str, Any], found: dict[str, Any]) -> web.Response:
    """The completion, as a stream of one piece if that was asked for."""
    headers = {"x-prime-not-done": ",".join(_not_done(body))}
    if not body.get("stream"):
        return web.json_response(found, headers=headers)
    with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    return web.Response(
        text="".join(events_of(found, with_usage=with_usage)),
        content_type="text/event-stream",
        headers=headers,
    )


def _completion(
    body: dict[str, Any], ids: list[int], answer: Answer, said: dict[str, Any]
) -> dict[str, Any]:
    ended = "tool_calls" if "tool_calls" in said else answer.ended
    choice: dict[str, Any] = {"index": 0, "finish_reason": ended, "message": said}
    given, own = len(ids), len(answer.ids)
    found: dict[str, Any] = {
        "id": uuid.uuid4().hex,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", "policy"),
        "choices": [choice],
        "usage": {
            "prompt_tokens": given,
            "completion_tokens": own,
            "total_tokens": given + own,
        },
    }
    if body.get("logprobs"):
        tokens = zip(answer.ids, answer.logprobs, strict=True)
        choice["logprobs"] = {
            "content": [
                {
                    "token": f"token_id:{token}",
                    "logprob": logprob,
                    "bytes": None,
                    "top_logprobs": [],
                }
                for token, logprob in tokens
            ]
        }
    if body.get("return_token_ids"):
        found["prompt_token_ids"], choice["token_ids"] = ids, answer.ids
    return found

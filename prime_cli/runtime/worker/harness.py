"""A v1 harness that runs in the worker's own process: a chat loop without tools.

Upstream starts a Python process for each rollout, about 1.2 s of CPU and 50 MB each. Its contract
for a harness asks for something else: that every model call goes to the interception server,
which builds the trace; where the loop runs is the harness's own business. Tasks with tools,
containers or a harness of their own do not come here.
"""

import asyncio
import json
import sys
import types
from typing import Any

from .client import loopback_client
from .identity import current

MODULE = "prime_in_process"
NAME = "in-process"
RETRIED = {408, 409, 429}
SERVER_FAULT = 500
LONGEST_PAUSE_S = 8.0
# How providers word "the prompt does not fit"; upstream's loop ends the rollout there, unfailed.
OVERFLOW = ("context length", "context_length", "maximum model length", "prompt_too_long",
            "prompt is too long", "context window")  # fmt: skip


def register(call_retries: int) -> str:
    """Make the harness known to verifiers by an id; returns the id."""
    import verifiers.v1 as vf
    from verifiers.v1.runtimes import ProgramResult

    http = loopback_client()

    class InProcessHarness(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]
        APPENDS_SYSTEM_PROMPT = True
        SUPPORTS_RESUME = True
        EXECUTES_CODE = False
        NEEDS_CONTAINER = False

        async def launch(
            self,
            ctx: Any,
            trace: Any,
            runtime: Any,
            endpoint: str,
            secret: str,
            mcp_urls: Any,
            data: Any,
            **_: object,
        ) -> Any:
            system, prompt = self.resolve_prompt(data)
            body = {"model": ctx.model, "messages": _messages(system, prompt)}
            url = endpoint.rstrip("/") + "/chat/completions"
            status, text = await _ask(http, url, secret, body, call_retries)
            if status == 200 or _does_not_fit(status, text):  # noqa: PLR2004
                return ProgramResult(0, text, "")
            return ProgramResult(1, "", f"model call: HTTP {status}: {text[:2000]}")

    module = types.ModuleType(MODULE)
    vars(module).update(InProcessHarness=InProcessHarness, __all__=["InProcessHarness"])
    InProcessHarness.__module__ = MODULE
    sys.modules[MODULE] = module
    return MODULE


async def _ask(
    http: Any, url: str, secret: str, body: dict[str, Any], retries: int
) -> tuple[int, str]:
    """(status, text) of the answer, after as many tries as it takes or may take."""
    content = json.dumps(body).encode()
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
    identity = current.get()
    if identity is not None:
        headers.update(identity.headers("policy"))
    for attempt in range(retries + 1):
        if attempt:
            headers["x-stainless-retry-count"] = str(attempt)
        answer = await http.post(url, content=content, headers=headers)
        if attempt == retries or not _may_succeed_later(answer):
            return answer.status_code, answer.text
        await asyncio.sleep(_pause(answer, attempt))
    raise AssertionError("unreachable")


def _may_succeed_later(answer: Any) -> bool:
    if answer.headers.get("x-should-retry") == "false":
        return False
    return answer.status_code in RETRIED or answer.status_code >= SERVER_FAULT


def _pause(answer: Any, attempt: int) -> float:
    try:
        wanted = float(answer.headers.get("retry-after", ""))
    except ValueError:
        wanted = 0.5 * 2**attempt
    return max(0.0, min(wanted, LONGEST_PAUSE_S))


def _does_not_fit(status: int, text: str) -> bool:
    if status not in (400, 413):
        return False
    return any(words in text.lower() for words in OVERFLOW)


def _messages(system: str | None, prompt: Any) -> list[dict[str, Any]]:
    said = [{"role": "system", "content": system}] if system else []
    if isinstance(prompt, str):
        return [*said, {"role": "user", "content": prompt}]
    return said + [_wire(message) for message in prompt or []]


def _wire(message: Any) -> Any:
    from verifiers.v1.dialects.chat import message_to_wire

    return message_to_wire(message)

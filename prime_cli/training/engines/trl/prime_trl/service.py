"""The rollout service, as an engine asks it: the standard library, and threads."""

import http.client
import json
import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit


class Refused(RuntimeError):
    """The service refused a request, or its answer broke off."""


class Service:
    """The session's rollout service; raises Refused, or OSError once prime is gone."""

    def __init__(self) -> None:
        self._url = urlsplit(os.environ["PRIME_ROLLOUTS_URL"])
        self._token = os.environ["PRIME_ROLLOUTS_TOKEN"]
        self._threads = ThreadPoolExecutor(max_workers=512)

    def environment(self) -> dict[str, Any]:
        """What rollouts can be asked for; waits until the environment is loaded."""
        return self._ask("GET", "environment")

    def set_policy(self, **policy: Any) -> None:
        """Name the policy, or the version of its weights."""
        self._ask("PUT", "policy", policy)

    def keep_step(self, step: int, metrics: dict[str, Any]) -> dict[str, Any]:
        """Report a step; returns whether to `stop` after it, or has even `finished`."""
        return self._ask("POST", "steps", {"step": step, "metrics": metrics})

    def evaluate(self, step: int) -> "Future[dict[str, Any]]":
        """Evaluate the current weights; they must answer until that is done."""
        return self._threads.submit(self._ask, "POST", "evaluations", {"step": step})

    def say(self, text: str) -> None:
        """Tell the user."""
        self._ask("POST", "log", {"text": text})

    def fail(self, code: str, message: str, hint: str | None = None) -> None:
        """Say why the engine ends; `code` is one of prime's errors."""
        self._ask("POST", "failures", {"code": code, "message": message, "hint": hint})

    def group(
        self, example: int, count: int, tag: dict[str, Any], policy: dict[str, Any] | None = None
    ) -> "Future[list[Any]]":
        """`count` rollouts of an example, in the order of their numbers; by a `policy` of theirs,
        else by the one that was set.
        """
        ask = {"example": example, "n": count, "tag": tag, "policy": policy}
        return self._threads.submit(self._group, ask)

    def _group(self, ask: dict[str, Any]) -> list[Any]:
        count = ask["n"]
        response = self._send("POST", "rollouts", ask)
        found = [json.loads(line) for line in response]
        broken = [each for each in found if "rollout" not in each]
        if broken or len(found) != count:
            why = broken[0].get("error") if broken else "the answer broke off"
            raise Refused(f"{len(found) - len(broken)} of {count} rollouts came: {why}")
        return sorted(found, key=lambda each: int(each["rollout"]))

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        answer = json.loads(self._send(method, path, body).read())
        return answer if isinstance(answer, dict) else {}

    def _send(self, method: str, path: str, body: Any = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        connection.request(method, f"{self._url.path}/{path}", content, headers)
        response = connection.getresponse()
        if response.status != http.client.OK:
            said = response.read().decode("utf-8", "replace")
            raise Refused(f"{method} /{path} was refused ({response.status}): {said}")
        return response

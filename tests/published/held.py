"""A client of our hub of which every answer is held against the published tables."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
from starlette.testclient import TestClient

from tests.published.checking import API, faults_of_answer
from tests.published.notation import HUB, published


@dataclass
class Held:
    """Fails over an answer that is not as published in `tables`; `seen` are good addresses."""

    client: httpx.Client | TestClient
    tables: tuple[str, ...] = HUB
    seen: set[str] = field(default_factory=set)

    def ask(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        """The JSON of the answer."""
        answer = self.client.request(method, f"{API}{path}", json=body)
        assert answer.status_code in (status, 201 if status == 200 else status), answer.text
        content = answer.json() if answer.content else None
        path = answer.request.url.path
        faults = faults_of_answer(method, path, answer.status_code, content, tables=self.tables)
        assert not faults, f"{faults}\n{json.dumps(content, indent=1)}"
        address = published(self.tables).find(method, path.removeprefix(API))
        assert address is not None
        if status == 200:
            self.seen.add(f"{address.method} {address.path}")
        return content

"""The inside of a sandbox, as a client asks for it."""

import httpx

from prime_cli.api.client import HubClient
from prime_cli.wire.command_sessions import STDOUT, CommandSpec, StartRequest, output
from prime_cli.wire.connect import frame

PLACE = {
    "gateway_url": "http://hub.example/gw",
    "user_ns": "u",
    "job_id": "j",
    "expires_at": "2126-11-23T16:00:00Z",
}


def test_a_command_has_time_to_say_that_it_took_too_long_and_its_kill_has_five_seconds() -> None:
    waits: dict[str, float] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        method = request.url.path.rpartition("/")[2]
        if method == "auth":
            return httpx.Response(200, json={"token": "t", **PLACE})
        waits[method] = request.extensions["timeout"]["read"]
        return httpx.Response(200, content=iter([frame(output(STDOUT, b"one"))]))

    way = httpx.MockTransport(answer)
    hub = HubClient("http://hub.example", key="pit_x", transport=way, outside=way)
    request = StartRequest(CommandSpec(("sleep", "60"), {}, None, None), session="s-1")
    events = hub.sandboxes.gateway("box").run(request, seconds=60)
    next(events)
    events.close()
    assert waits == {"Start": 90, "SendSignal": 5}

"""Requests about secrets, variables and forks that the public hub is known to take.

As release 0.18 of the official client sends them; its users are never shown the answers' nulls.
"""

from tests.helpers.exchanges import Body, Exchange, keys

SECRET = {"id": "sec_1", "name": "API_TOKEN", "createdAt": "2026-11-21T02:16:21Z"}
VARIABLE = {"id": "var_1", "name": "SIZE", "value": "3"}
_HUB = "/api/v1/environmentshub"
_NEW = Body(keys("name value"), keys("description"))
_CHANGE = Body(keys(""), keys("name value description"))
_FORKED = {
    "success": True,
    "message": "Forked",
    "environment_id": "env_2",
    "version_id": "ver_2",
    "name": "tiny-v18",
    "owner": "bob",
    "slug": "bob/tiny-v18",
}
_LINK = {"id": "lnk_1", "secretId": "sec_1", "secretName": "A", "environmentId": "env_1"}
_TEAM = keys("teamId")


def _store(path: str, item: dict[str, str]) -> tuple[Exchange, ...]:
    return (
        Exchange("GET", path, {"data": [item]}),
        Exchange("POST", path, {"data": item}, body=_NEW),
        Exchange("PATCH", f"{path}/{{}}", {"data": item}, body=_CHANGE),
        Exchange("DELETE", f"{path}/{{}}", {"data": {"success": True}}),
    )


EXCHANGES = (
    Exchange("GET", "/api/v1/secrets/", {"data": [SECRET]}, query=_TEAM),
    Exchange(
        "POST",
        "/api/v1/secrets/",
        {"data": SECRET},
        body=Body(keys("name value"), keys("description isFile teamId")),
    ),
    Exchange("PATCH", "/api/v1/secrets/{}", {"data": SECRET}, query=_TEAM, body=_CHANGE),
    Exchange("DELETE", "/api/v1/secrets/{}", {"data": {"success": True}}, query=_TEAM),
    *_store(f"{_HUB}/{{}}/secrets", SECRET),
    Exchange(
        "POST",
        f"{_HUB}/{{}}/secrets/link/{{}}",
        {"data": {**_LINK, "createdAt": "2026-11-21T02:16:21Z"}},
        body=Body(keys("")),
    ),
    Exchange("DELETE", f"{_HUB}/{{}}/secrets/link/{{}}", {"data": {"success": True}}),
    *_store(f"{_HUB}/{{}}/variables", VARIABLE),
    Exchange(
        "POST",
        f"{_HUB}/{{}}/{{}}/fork",
        {"data": _FORKED},
        body=Body(keys(""), keys("team_slug team_id")),
    ),
)

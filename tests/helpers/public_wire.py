"""Which requests the public hub is known to take, and what it is known to answer.

From transcripts of the official client, releases 0.3 to 0.18; names and digests are invented. A
request of ours that no entry allows is one that nobody has seen that hub take.
"""

import httpx

from tests.helpers import public_compute, public_evaluations, public_sandboxes, public_secrets
from tests.helpers.exchanges import Body, Exchange, keys
from tests.published.checking import faults_of_traffic

HASH = "c65b3405071a79cbb0cf323d43791b5bd756a5938ea0fb8520d35c8722db0640"
TEAM = {
    "teamId": "cmteam0000000000000000000",
    "name": "Team X",
    "slug": "team-x",
    "role": "ADMIN",
    "createdAt": "2026-11-21T02:16:21Z",
}
MEMBER = {
    "userId": "user_1",
    "userName": "Ada",
    "userEmail": None,
    "role": "ADMIN",
    "joinedAt": "2026-11-21T02:16:21Z",
}
OWNED = {
    "id": "env_1aefa2a4",
    "name": "tiny-v18",
    "owner": {"name": "ada", "type": "user"},
    "visibility": "PUBLIC",
}
METADATA = {
    "description": "A tiny env",
    "tags": ["test", "single-turn"],
    "license": "",
    "dependencies": [],
    "python_requires": ">=3.10",
    "original_filename": "tiny_v18-0.1.0-py3-none-any.whl",
    "requires_dist": [],
}
DETAIL = {
    **OWNED,
    "version_id": "ver_7ff0dc2f",
    "semantic_version": "0.1.0",
    "content_hash": HASH,
    "sha256": "b968c8822bccdaf7a5cb584142168942e9e991a36c890ffa8cb2d82bdff06ef5",
    "metadata": METADATA,
    "simple_index_url": "https://hub.example/ada/simple/",
    "wheel_url": "https://files.example/tiny_v18-0.1.0-py3-none-any.whl",
    "package_url": "https://files.example/tiny-v18-0.1.0.tar.gz",
}
ITEM = {
    **OWNED,
    "description": "A tiny env",
    "latest_version": "0.1.0",
    "stars": 0,
    "updated_at": "2026-11-21T02:19:39Z",
    "tags": [],
}
NEWEST = {
    "semantic_version": "0.1.0",
    "content_hash": HASH,
    "created_at": "2026-11-21T02:16:41Z",
}
ENTRY = {"name": "README.md", "path": "README.md", "is_directory": False, "size": 7}

_HUB = "/api/v1/environmentshub"
_METADATA = Body(
    keys("description tags license dependencies python_requires original_filename"),
    keys("requires_dist"),
)
_ANNOUNCED = keys("content_hash filename sha256 semantic_version metadata")
_UPLOADED = {"content-type": "application/octet-stream"}

EXCHANGES = (
    Exchange(
        "GET",
        "/api/v1/user/whoami",
        {"data": {"id": "user_1", "slug": "ada", "scope": None}},
        query=keys("teamId"),
    ),
    Exchange(
        "GET",
        "/api/v1/user/teams",
        {"data": [TEAM], "total_count": 1, "offset": 0, "limit": 100},
        query=keys("offset limit"),
    ),
    Exchange(
        "GET",
        "/api/v1/teams/{}/members",
        {"data": [MEMBER]},
        query=keys("offset limit"),
    ),
    Exchange(
        "POST",
        "/api/v1/auth_challenge/generate",
        {"challenge": "CB241826", "status_auth_token": "05fb86ed559d4ac4af8f59204acf2b6d"},
        body=Body(keys("encryptionPublicKey")),
        anonymous=True,
    ),
    Exchange(
        "GET",
        "/api/v1/auth_challenge/status",
        {"result": None},
        query=keys("challenge"),
        headers={"authorization": "Bearer token"},
    ),
    Exchange(
        "GET",
        f"{_HUB}/",
        {"data": [ITEM], "total_count": 1},
        query=keys(
            "include_teams limit offset sort_by sort_order owner visibility search tags "
            "starred_only mine_only"
        ),
    ),
    Exchange("GET", f"{_HUB}/{{}}/{{}}/@{{}}", {"data": DETAIL}),
    Exchange(
        "GET",
        f"{_HUB}/{{}}/{{}}/@{{}}/inspect",
        {"data": {"kind": "directory", "path": "", "version_id": "ver_1", "entries": [ENTRY]}},
        query=keys("max_bytes path"),
    ),
    Exchange("GET", f"{_HUB}/{{}}/{{}}/status", {"data": {**ITEM, "latest_version": NEWEST}}),
    Exchange(
        "GET",
        f"{_HUB}/{{}}/{{}}/versions",
        {
            "data": {
                "versions": [
                    {
                        "version": "0.1.0",
                        "created_at": NEWEST["created_at"],
                        "sha256": HASH,
                        "size": 2,
                    }
                ]
            }
        },
    ),
    Exchange("DELETE", f"{_HUB}/{{}}/{{}}/@{{}}", {"data": {"success": True}}),
    Exchange("DELETE", f"{_HUB}/{{}}/{{}}", {"data": {"success": True}}),
    Exchange(
        "POST",
        f"{_HUB}/resolve",
        {"data": {**OWNED, "created": True}},
        body=Body(keys("name"), keys("visibility owner_slug team_slug team_id")),
    ),
    Exchange(
        "POST",
        f"{_HUB}/{{}}/wheels",
        {"data": {"wheel_id": "whl_1", "upload_url": "https://files.example/upload/whl_1?sig=s"}},
        body=Body(_ANNOUNCED | {"size"}, keys("runtime_hint")),
        metadata=_METADATA,
    ),
    Exchange("POST", f"{_HUB}/{{}}/wheels/{{}}/finalize", {"data": {"success": True}}),
    Exchange(
        "POST",
        f"{_HUB}/{{}}/versions",
        {"data": {"version_id": "ver_1", "upload_url": "https://files.example/upload/ver_1?sig=s"}},
        body=Body(_ANNOUNCED, keys("runtime_hint")),
        metadata=_METADATA,
    ),
    Exchange(
        "POST", f"{_HUB}/{{}}/versions/{{}}/finalize", {"data": {"success": True, "message": None}}
    ),
    Exchange("PUT", "/upload/{}", b"", query=keys("sig"), headers=_UPLOADED, anonymous=True),
    Exchange("GET", "/tiny_v18-0.1.0-py3-none-any.whl", b"wheel", anonymous=True),
    Exchange("GET", "/ada/simple/tiny-v18/", b"<a href=x.whl>x.whl</a>"),
    *public_evaluations.EXCHANGES,
    *public_compute.EXCHANGES,
    *public_secrets.EXCHANGES,
    *public_sandboxes.EXCHANGES,
)


def find_exchange(method: str, path: str) -> Exchange | None:
    """The known request of this method and path; None when nobody has seen it."""
    return next((each for each in EXCHANGES if each.fits(method, path)), None)


class PublicWire(httpx.BaseTransport):
    """Answers known requests, and fails over any other."""

    def __init__(self) -> None:
        self.seen: list[Exchange] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        if request.url.path == "/api/v1/capabilities":  # asks which hub it is; none of ours
            return httpx.Response(404, json={"detail": "Not Found"})
        exchange = find_exchange(request.method, request.url.path)
        assert exchange is not None, f"nobody has seen {request.method} {request.url}"
        faults = [fault for fault in exchange.find_faults(request) if fault]
        if exchange in public_compute.EXCHANGES:
            faults += faults_of_traffic(request)
        assert not faults, f"{request.method} {request.url}: {faults}"
        self.seen.append(exchange)
        answer = exchange.answer
        if isinstance(answer, bytes):
            return httpx.Response(200, stream=httpx.ByteStream(answer))
        return httpx.Response(200, json=answer)

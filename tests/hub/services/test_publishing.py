import io
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.helpers.storage import storage_of
from tests.hub.accounts_hub import AccountsHub
from tests.hub.pushing import HUB, Push, data, make_sources, names, open_app, sha256


def test_version_is_seen_only_after_the_last_finalize(client: httpx.Client) -> None:
    push = Push(client)
    push.begin()
    push.push_wheel()
    version_id = push.push_sources()
    assert names(client) == []
    assert client.get(f"{HUB}/ada/word/@latest").status_code == 404
    assert data(client.get(f"{HUB}/ada/word/versions")) == {"versions": []}
    assert data(push.finalize("versions", version_id)) == {"success": True, "message": None}
    assert names(client) == ["word"]
    assert data(client.get(f"{HUB}/ada/word/@latest"))["semantic_version"] == "0.1.0"


@pytest.mark.parametrize(("was", "wanted"), [("PRIVATE", "PUBLIC"), ("PUBLIC", "PRIVATE")])
def test_visibility_changes_with_the_last_finalize(
    accounts_hub: AccountsHub, was: str, wanted: str
) -> None:
    ada, nobody = accounts_hub.user("ada"), accounts_hub.client()
    Push(ada, visibility=was).run()
    before = nobody.get(f"{HUB}/ada/word/@latest").status_code
    push = Push(ada, version="0.2.0", visibility=wanted)
    push.begin()
    push.push_wheel()
    version_id = push.push_sources()
    assert nobody.get(f"{HUB}/ada/word/@latest").status_code == before
    data(push.finalize("versions", version_id))
    assert data(ada.get(f"{HUB}/ada/word/@latest"))["visibility"] == wanted
    assert nobody.get(f"{HUB}/ada/word/@latest").status_code == {200: 404, 404: 200}[before]


def test_failed_push_publishes_nothing(accounts_hub: AccountsHub) -> None:
    ada, nobody = accounts_hub.user("ada"), accounts_hub.client()
    Push(ada, visibility="PRIVATE").run()
    same_version = Push(ada, code="changed = True\n", visibility="PUBLIC")
    same_version.begin()
    assert same_version.declare_wheel().status_code == 409
    bad_wheel = Push(ada, version="0.2.0", visibility="PUBLIC")
    bad_wheel.wheel = b"no wheel"
    bad_wheel.begin()
    ticket = data(bad_wheel.declare_wheel())
    ada.put(ticket["upload_url"], content=bad_wheel.wheel).raise_for_status()
    assert bad_wheel.finalize("wheels", ticket["wheel_id"]).status_code == 422
    assert nobody.get(f"{HUB}/ada/word/@latest").status_code == 404
    Push(ada, version="0.3.0").run()
    assert nobody.get(f"{HUB}/ada/word/@latest").status_code == 404


def test_visibility_that_one_publisher_asked_for_is_not_given_by_another(
    accounts_hub: AccountsHub,
) -> None:
    ada, bob = accounts_hub.user("ada"), accounts_hub.user("bob")
    accounts_hub.team("lab", ada="MEMBER", bob="MEMBER")
    Push(ada, owner="lab", visibility="PRIVATE").run()
    again = Push(bob, owner="lab", version="0.2.0")
    again.begin()
    Push(ada, owner="lab", version="0.3.0", visibility="PUBLIC").begin()
    again.push_wheel()
    data(again.finalize("versions", again.push_sources()))
    assert accounts_hub.client().get(f"{HUB}/lab/word/@latest").status_code == 404


def test_finalize_of_a_published_version_grants_what_its_push_asks(client: httpx.Client) -> None:
    push = Push(client).run()
    version_id = data(client.get(f"{HUB}/ada/word/@latest"))["version_id"]
    push.visibility = "PRIVATE"
    push.begin()
    data(push.finalize("versions", version_id))
    assert data(client.get(f"{HUB}/ada/word/@latest"))["visibility"] == "PRIVATE"


def test_second_push_of_a_killed_client_finishes_the_job(folder: Path) -> None:
    first = Push(open_app(folder))
    first.begin()
    first.push_wheel()
    first.push_sources()
    again = Push(open_app(folder)).run()
    assert again.environment_id == first.environment_id
    assert names(again.client) == ["word"]


def test_wheel_that_came_before_is_not_asked_for_again(folder: Path) -> None:
    first = Push(open_app(folder))
    first.begin()
    ticket = data(first.declare_wheel())
    first.client.put(ticket["upload_url"], content=first.wheel)
    again = Push(open_app(folder))
    again.begin()
    assert data(again.declare_wheel()) == {"wheel_id": ticket["wheel_id"], "upload_url": None}


def test_wheel_whose_blob_was_lost_is_requested_again(folder: Path, client: httpx.Client) -> None:
    push = Push(client).run()
    digest = sha256(push.wheel)
    data(client.delete(f"{HUB}/ada/word/@{push.content_hash}"))
    again = Push(client)
    again.begin()
    again.push_wheel()
    storage_of(folder).delete(digest)
    assert data(again.declare_wheel())["upload_url"] is not None


def test_published_content_is_refused_in_the_official_words(client: httpx.Client) -> None:
    push = Push(client).run()
    answer = push.declare_wheel()
    assert answer.status_code == 409
    assert "content hash" in answer.json()["detail"]
    assert "already exists" in answer.json()["detail"]


def test_published_version_keeps_its_content(client: httpx.Client) -> None:
    Push(client).run()
    other = Push(client, code="changed = True\n")
    other.begin()
    for answer in (other.declare_wheel(), other.declare_version()):
        assert answer.status_code == 409
        assert "content hash" not in answer.json()["detail"]


@pytest.mark.parametrize("version", ["1.0.0", "1.0", "1"])
def test_versions_that_installers_compare_as_equal_are_one(
    client: httpx.Client, version: str
) -> None:
    Push(client, version="1.0").run()
    other = Push(client, version=version, code="changed = True\n")
    other.begin()
    assert other.declare_wheel().status_code == 409


def test_of_two_pushes_under_way_of_one_version_the_first_finalize_wins(
    client: httpx.Client,
) -> None:
    one, two = Push(client), Push(client, code="changed = True\n")
    ids = []
    for push in (one, two):
        push.begin()
        push.push_wheel()
        ids.append(push.push_sources())
    assert one.finalize("versions", ids[0]).status_code == 200
    assert two.finalize("versions", ids[1]).status_code == 409
    detail = data(client.get(f"{HUB}/ada/word/@0.1.0"))
    assert detail["content_hash"] == one.content_hash


def test_finalize_done_twice_is_as_done_once(client: httpx.Client) -> None:
    push = Push(client)
    push.begin()
    push.push_wheel()
    version_id = push.push_sources()
    answers = [data(push.finalize("versions", version_id)) for _ in range(2)]
    assert answers == [{"success": True, "message": None}] * 2


def test_version_without_its_wheel_is_refused(client: httpx.Client) -> None:
    push = Push(client)
    push.begin()
    answer = push.finalize("versions", push.push_sources())
    assert answer.status_code == 409
    assert "wheel" in answer.json()["detail"]


def test_finalize_before_the_bytes_have_come_is_refused(client: httpx.Client) -> None:
    push = Push(client)
    push.begin()
    wheel_id = data(push.declare_wheel())["wheel_id"]
    assert push.finalize("wheels", wheel_id).status_code == 409


def test_wheel_with_other_metadata_is_refused_and_can_be_sent_again(client: httpx.Client) -> None:
    push = Push(client)
    push.begin()
    right, push.wheel = push.wheel, Push(client, name="other").wheel
    ticket = data(push.declare_wheel())
    client.put(ticket["upload_url"], content=push.wheel).raise_for_status()
    answer = push.finalize("wheels", ticket["wheel_id"])
    assert (answer.status_code, answer.json()["code"]) == (422, "integrity")
    assert "`other`" in answer.json()["detail"]
    push.wheel = right
    push.push_wheel()


@pytest.mark.parametrize(
    "files", [{"word.py": ""}, {"../up.py": "", "pyproject.toml": ""}], ids=["bare", "unsafe"]
)
def test_source_archive_that_must_not_be_unpacked_is_refused(
    client: httpx.Client, files: dict[str, str]
) -> None:
    push = Push(client)
    push.sources = make_sources(files)
    push.begin()
    push.push_wheel()
    answer = push.finalize("versions", push.push_sources())
    assert answer.status_code == 422
    assert names(client) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sha256": "A" * 64}, "SHA-256"),
        ({"content_hash": "../../etc"}, "content hash"),
        ({"filename": "../word-0.1.0-py3-none-any.whl"}, "plain file name"),
        ({"filename": "word.whl"}, "wheel file name"),
        ({"filename": "other-0.1.0-py3-none-any.whl"}, "`other`"),
        ({"filename": "word-0.2.0-py3-none-any.whl"}, "0.2.0"),
        ({"semantic_version": "first"}, "PEP 440"),
        ({"semantic_version": f"0.1.0+{'a' * 200}"}, "206 characters, and 128 are the most"),
        (
            {"filename": f"word-0.1.0-{'.'.join(['py3'] * 57)}-none-any.whl"},
            "file name has 251 characters, and 240 are the most",
        ),
        ({"size": 2**40}, "exceed"),
        ({"metadata": {"tags": "x"}}, "tags"),
    ],
)
def test_bad_declaration_is_refused_before_any_byte(
    client: httpx.Client, change: dict[str, object], said: str
) -> None:
    push = Push(client)
    push.begin()
    answer = push.declare_wheel(**change)
    assert answer.status_code == 422
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("length", [128, 129, 200, 215])
def test_a_version_that_is_published_can_be_found_and_others_are_refused(
    client: httpx.Client, length: int
) -> None:
    push = Push(client, version="0.1.0+".ljust(length, "a"))
    push.begin()
    declared = [push.declare_wheel().status_code, push.declare_version().status_code]
    assert declared == ([200, 200] if length <= 128 else [422, 422])
    if length <= 128:
        push.run()
        assert client.get(f"{HUB}/ada/word/@{push.version}").status_code == 200


def test_null_in_a_request_means_left_out(client: httpx.Client) -> None:
    push = Push(client, metadata={"description": None, "tags": None, "license": {"text": "MIT"}})
    push.run()
    detail = data(client.get(f"{HUB}/ada/word/@latest"))
    assert detail["metadata"] == {"license": {"text": "MIT"}}


def test_nobody_writes_to_another_users_environment(folder: Path) -> None:
    push = Push(open_app(folder, "ada")).run()
    push.client = open_app(folder, "eve")
    assert push.declare_wheel().status_code == 403
    assert push.declare_version().status_code == 403


def test_knowing_the_digest_of_a_private_wheel_gives_no_access(folder: Path) -> None:
    Push(open_app(folder, "ada"), visibility="PRIVATE").run()
    thief = Push(open_app(folder, "eve"))
    thief.begin()
    assert data(thief.declare_wheel())["upload_url"] is not None


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"zeros.bin": b"\0" * 100_000_000}, "far more"),
        ({"README.md": b"", "readme.md": b""}, "contains both"),
        ({"Word.py": b""}, "contains both"),
    ],
    ids=["zeros", "readme", "module"],
)
def test_wheel_that_must_not_be_unpacked_is_refused(
    client: httpx.Client, members: dict[str, bytes], said: str
) -> None:
    push = Push(client)
    push.wheel = with_members(push.wheel, members)
    push.begin()
    ticket = data(push.declare_wheel())
    client.put(ticket["upload_url"], content=push.wheel).raise_for_status()
    answer = push.finalize("wheels", ticket["wheel_id"])
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["detail"]
    assert answer.json()["code"] == "unsafe_content"
    # It is forgotten, so that another can be sent in its place.
    assert push.finalize("wheels", ticket["wheel_id"]).status_code == 404


def test_sources_that_collide_are_refused(client: httpx.Client) -> None:
    push = Push(client)
    push.sources = make_sources({"pyproject.toml": "", "README.md": "", "readme.md": ""})
    push.begin()
    push.push_wheel()
    ticket = data(push.declare_version())
    client.put(ticket["upload_url"], content=push.sources).raise_for_status()
    answer = push.finalize("versions", ticket["version_id"])
    assert (answer.status_code, answer.json()["code"]) == (422, "unsafe_content")


def with_members(wheel: bytes, members: dict[str, bytes]) -> bytes:
    file = io.BytesIO(wheel)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()

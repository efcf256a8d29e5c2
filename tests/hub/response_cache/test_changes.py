"""Whatever changes, and on whatever way, the next request sees it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.hub.pushing import HUB, Push, data, open_app
from tests.hub.response_cache.serving import JSON, anonymous

NAMES = ("word", "chess")
VERSIONS = ("0.1.0", "0.2.0", "0.3.0")


def addresses(name: str) -> list[str]:
    """Every address of an environment that is answered from ready pages."""
    api = [f"{HUB}/ada/{name}/{rest}" for rest in ("@latest", "@0.1.0", "status", "versions")]
    return [*api, "/ada/simple/", f"/ada/simple/{name}/", f"/ada/{name}/simple/{name}/"]


class Changes(RuleBasedStateMachine):
    """Changes made by the owner on one connection, looked at by somebody on another."""

    names = st.sampled_from(NAMES)

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "hub"
        self.owner = open_app(path, "ada")
        self.ready = anonymous(path)
        self.ready.__enter__()
        self.published: dict[tuple[str, str], str] = {}

    def teardown(self) -> None:
        if hasattr(self, "ready"):
            self.ready.__exit__(None, None, None)
            self.ready.app.state.hub.database.engine.dispose()  # type: ignore[attr-defined]
            self.folder.cleanup()

    @rule(name=names, version=st.sampled_from(VERSIONS))
    def publish(self, name: str, version: str) -> None:
        if (name, version) not in self.published:
            push = Push(self.owner, name, version, code=f"# {len(self.published)}").run()
            self.published[name, version] = push.content_hash

    @rule(name=names)
    def make_without_a_version(self, name: str) -> None:
        data(Push(self.owner, name).resolve())

    @precondition(lambda self: self.published)
    @rule(draw=st.data(), visibility=st.sampled_from(("PUBLIC", "PRIVATE")))
    def show_or_hide(self, draw: st.DataObject, visibility: str) -> None:
        name, _ = draw.draw(st.sampled_from(sorted(self.published)))
        Push(self.owner, name).change_visibility(visibility)

    @precondition(lambda self: self.published)
    @rule(draw=st.data(), yank=st.booleans())
    def yank(self, draw: st.DataObject, yank: bool) -> None:
        name, version = draw.draw(st.sampled_from(sorted(self.published)))
        what = "yank" if yank else "unyank"
        data(self.owner.post(f"{HUB}/ada/{name}/@{version}/{what}", json={"reason": "why"}))

    @precondition(lambda self: self.published)
    @rule(draw=st.data())
    def delete_version(self, draw: st.DataObject) -> None:
        key = draw.draw(st.sampled_from(sorted(self.published)))
        data(self.owner.delete(f"{HUB}/ada/{key[0]}/@{self.published.pop(key)}"))

    @rule(name=names)
    def delete_environment(self, name: str) -> None:
        self.owner.delete(f"{HUB}/ada/{name}")
        self.published = {key: value for key, value in self.published.items() if key[0] != name}

    @invariant()
    def what_is_ready_is_what_would_be_made_now(self) -> None:
        if not hasattr(self, "ready"):
            return
        for address in [address for name in NAMES for address in addresses(name)]:
            # Who sends a cookie is not answered from ready pages.
            now = self.ready.get(address, headers={**JSON, "cookie": "a=b"})
            for _ in range(2):
                seen = self.ready.get(address, headers=JSON)
                assert (seen.status_code, seen.content) == (now.status_code, now.content), address


TestChanges = Changes.TestCase
TestChanges.settings = settings(
    max_examples=6,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.parametrize("address", addresses("word"))
def test_change_by_one_environment_leaves_the_others_ready(folder: Path, address: str) -> None:
    owner = open_app(folder, "ada")
    Push(owner, "word").run()
    bob = open_app(folder, "bob")
    with anonymous(folder) as client:
        first = client.get(address)
        Push(bob, "chess").run()
        assert client.get(address).headers["etag"] == first.headers["etag"]

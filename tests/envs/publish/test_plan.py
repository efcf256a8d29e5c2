import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from prime_cli.client.api.client import HubClient
from prime_cli.core.archive.members import unpack_archive
from prime_cli.core.archive.sources import content_hash, list_sources
from prime_cli.core.digests import digest_file
from prime_cli.core.errors import (
    BadProject,
    Conflict,
    GateFailed,
    IntegrityError,
    NotFound,
    UnsafeContent,
    UsageError,
)
from prime_cli.core.paths import prime_home
from prime_cli.core.progress import Silent
from prime_cli.core.refs import EnvRef
from prime_cli.envs.project.build import build_checked, build_wheel
from prime_cli.envs.project.folder import Project, load_project
from prime_cli.envs.project.starters import mark_published
from prime_cli.envs.publish.plan import Destination, Published
from prime_cli.envs.publish.provenance import read_provenance, write_provenance
from prime_cli.envs.publish.release import VersionBump, open_release
from prime_cli.envs.publish.upload import UploadOptions, upload
from prime_cli.runtime.locks import save_lock
from prime_cli.wire.check_reports import CheckReport
from prime_cli.wire.environments import EnvironmentQuery
from prime_cli.wire.locks import Lock
from prime_cli.wire.version_documents import LOCK
from tests.helpers.hubs import open_hub
from tests.helpers.wild import WILD, Shape, write_project, write_wheel

TINY = EnvRef("ada", "tiny-env")


def publish(
    hub: HubClient,
    folder: Path,
    target: str | None = None,
    *,
    bump: VersionBump | None = None,
    destination: Destination | None = None,
    runtime: str | None = None,
    progress: Silent | None = None,
) -> Published:
    options = UploadOptions(destination or Destination(), bump, check=False, runtime=runtime)
    with open_release(target, folder) as release:
        return upload(hub, release, options, progress or Silent())


def versions(hub: HubClient, ref: EnvRef = TINY) -> list[str]:
    return [item.version for item in hub.environments.versions(ref)]


def touch(folder: Path) -> None:
    with (folder / "tiny_env.py").open("a", encoding="utf-8") as file:
        file.write("# changed\n")


def test_a_project_arrives_whole(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p", WILD["data-files"])
    published = publish(hub, folder)
    assert (published.ref, published.already) == (TINY.at("0.1.0"), False)
    detail = hub.environments.get(published.ref)
    assert detail.metadata.description == "A tiny environment"
    assert detail.metadata.tags == ["test"]
    assert detail.content_hash == content_hash(list_sources(folder))
    assert detail.runtime_hint == "VERIFIERS_V0"
    (wheel,) = (folder / "dist").glob("*.whl")
    assert detail.wheel_sha256 == published.wheel_sha256 == digest_file(wheel)
    archive = tmp_path / "sources.tar.gz"
    assert detail.package_url is not None
    hub.environments.download(detail.package_url, archive, sha256=None, progress=Silent())
    unpack_archive(archive, tmp_path / "out")
    assert content_hash(list_sources(tmp_path / "out")) == detail.content_hash


def test_the_declared_runtime_overrides_the_one_in_the_code(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p")
    published = publish(hub, folder, runtime="v1")
    assert hub.environments.get(published.ref).runtime_hint == "VERIFIERS_V1"


def test_the_name_on_the_hub_may_be_spelled_otherwise_but_is_the_wheels(
    hub: HubClient, tmp_path: Path
) -> None:
    folder = write_project(tmp_path / "p")
    named = publish(hub, folder, destination=Destination(name="Tiny_Env"))
    assert named.ref == EnvRef("ada", "Tiny_Env", "0.1.0")
    with pytest.raises(UsageError, match="cannot be published as `other`"):
        publish(hub, folder, destination=Destination(name="other"))
    with pytest.raises(NotFound):
        hub.environments.status(EnvRef("ada", "other"))


def test_the_same_content_is_not_uploaded_twice(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p")
    first = publish(hub, folder)
    (folder / "dist").rename(tmp_path / "built-before")
    again = publish(hub, folder)
    assert (first.already, again.already) == (False, True)
    assert again.content_hash == first.content_hash
    assert versions(hub) == ["0.1.0"]
    assert not (folder / "dist").exists()


def test_the_same_version_with_other_content_is_a_conflict(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p")
    publish(hub, folder)
    touch(folder)
    with pytest.raises(Conflict, match=r"ada/tiny-env@0\.1\.0 is already published") as caught:
        publish(hub, folder)
    assert "--auto-bump" in (caught.value.hint or "")
    assert caught.value.exit_code == 7


@pytest.mark.parametrize(
    ("bump", "expected"),
    [(VersionBump.PATCH, "0.1.1"), (VersionBump.RC, "0.1.0rc0"), (VersionBump.POST, "0.1.0.post0")],
)
def test_a_bump_changes_the_project_and_publishes_it(
    bump: VersionBump, expected: str, hub: HubClient, tmp_path: Path
) -> None:
    folder = write_project(tmp_path / "p")
    publish(hub, folder)
    progress = Silent()
    assert publish(hub, folder, bump=bump, progress=progress).ref == TINY.at(expected)
    assert load_project(folder).version == expected
    assert f"tiny-env 0.1.0 becomes {expected}" in progress.said
    assert set(versions(hub)) == {"0.1.0", expected}


def test_a_bump_that_was_stopped_continues_with_its_version(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p")
    publish(hub, folder)
    (folder / "tiny_env.py").write_text("x = 1\n")
    with pytest.raises(Exception, match="exposes no environment"):
        publish(hub, folder, bump=VersionBump.PATCH)
    assert load_project(folder).version == "0.1.1"
    write_project(folder, Shape(version="0.1.1"))
    assert publish(hub, folder, bump=VersionBump.PATCH).ref.version == "0.1.1"
    touch(folder)
    assert publish(hub, folder, bump=VersionBump.PATCH).ref.version == "0.1.2"


def test_a_bump_that_was_published_but_not_noted_is_bumped_again_when_edited(
    hub: HubClient, tmp_path: Path
) -> None:
    folder = write_project(tmp_path / "p")
    publish(hub, folder)
    write_provenance(folder, {"pending_version": "0.1.0"})
    assert publish(hub, folder, bump=VersionBump.PATCH).already
    write_provenance(folder, {"pending_version": "0.1.0"})
    touch(folder)
    assert publish(hub, folder, bump=VersionBump.PATCH).ref.version == "0.1.1"


def test_a_dynamic_version_is_not_bumped(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p", WILD["dynamic-version"])
    with pytest.raises(BadProject, match="is dynamic"):
        publish(hub, folder, bump=VersionBump.PATCH)
    assert publish(hub, folder).ref.version == "0.3.0"
    assert publish(hub, folder).already


@pytest.mark.parametrize("length", [129, 200])
def test_a_version_too_long_for_a_reference_is_refused_before_anything_is_built(
    hub: HubClient, tmp_path: Path, length: int
) -> None:
    folder = write_project(tmp_path / "p", WILD["data-files"])
    pyproject = folder / "pyproject.toml"
    long = "0.1.0+".ljust(length, "a")
    pyproject.write_text(pyproject.read_text().replace("0.1.0", long))
    with pytest.raises(UsageError, match=f"has {length} characters, and 128 are the most"):
        publish(hub, folder)
    assert not (folder / "dist").exists()
    assert hub.environments.list(EnvironmentQuery()).data == []


def test_visibility_changes_without_a_new_version(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p")
    assert publish(hub, folder).visibility == "PUBLIC"
    private = publish(hub, folder, destination=Destination(visibility="PRIVATE"))
    assert (private.visibility, private.already) == ("PRIVATE", True)
    assert hub.environments.status(TINY).visibility == "PRIVATE"


@pytest.mark.parametrize("is_known", [True, False])
def test_a_version_that_fails_its_check_changes_nothing(
    hub: HubClient, tmp_path: Path, is_known: bool
) -> None:
    folder = write_project(tmp_path / "p")
    publish(hub, folder, destination=Destination(visibility="PRIVATE"))
    if not is_known:
        touch(folder)

    def refuse(wheel: Path, project: Project) -> CheckReport:
        raise GateFailed(f"{project.name} does not pass")

    options = UploadOptions(
        Destination(visibility="PUBLIC"),
        bump=None if is_known else VersionBump.PATCH,
        check=False,
        examine=refuse,
    )
    with open_release(None, folder) as release, pytest.raises(GateFailed):
        upload(hub, release, options, Silent())
    assert hub.environments.status(TINY).visibility == "PRIVATE"
    assert versions(hub) == ["0.1.0"]


def test_where_a_project_went_is_noted_beside_it(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p")
    published = publish(hub, folder)
    noted = read_provenance(folder)
    assert noted["environment_id"] == published.environment_id
    assert (noted["owner"], noted["name"], noted["version"]) == ("ada", "tiny-env", "0.1.0")
    assert noted["wheel_sha256"] == published.wheel_sha256
    assert "forked_from" not in noted


def test_a_project_of_someone_else_becomes_a_fork(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p")
    write_provenance(folder, {"owner": "eve", "name": "tiny", "version": "3", "kept": True})
    publish(hub, folder)
    noted = read_provenance(folder)
    assert noted["forked_from"] == "eve/tiny"
    assert noted["origin"]["owner"] == "eve"
    assert [parent["name"] for parent in noted["fork_chain"]] == ["tiny"]
    assert noted["kept"] is True


def test_a_lock_made_here_goes_with_the_version(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p")
    first = publish(hub, folder)
    assert not first.locked
    assert first.wheel_sha256 is not None
    lock = Lock(1, first.wheel_sha256, "0.1.14", "v0", "3.11", "date", ())
    save_lock(prime_home(), lock)
    assert publish(hub, folder).locked
    assert hub.documents.get(first.ref, LOCK) == lock


def test_a_built_wheel_goes_with_the_sources_beside_it(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p")
    first = publish(hub, folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    again = publish(hub, folder, str(wheel))
    assert (again.already, again.content_hash) == (True, first.content_hash)


@pytest.mark.parametrize("prefix", ["", "./"])
def test_a_wheel_on_its_own_is_published_with_what_it_holds(
    prefix: str, hub: HubClient, tmp_path: Path
) -> None:
    files = {"vf_tiny/__init__.py": "def load_environment(): ...\n", "vf_tiny/words.txt": "a\n"}
    wheel = write_wheel(
        tmp_path / "dist",
        files,
        name="vf_tiny",
        member_prefix=prefix,
        metadata="Summary: Tiny\nDescription-Content-Type: text/markdown\n\n# Words\n",
    )
    published = publish(hub, tmp_path, str(wheel))
    assert published.ref == EnvRef("ada", "vf_tiny", "0.1.0")
    assert publish(hub, tmp_path, str(wheel)).already
    assert published.wheel_sha256 == digest_file(wheel)
    detail = hub.environments.get(published.ref)
    assert detail.metadata.description == "Tiny"
    entries = hub.environments.inspect(published.ref).entries or []
    assert {entry.path for entry in entries} == {"README.md", "pyproject.toml", "vf_tiny"}


def test_the_sources_of_a_wheel_build_the_same_modules(tmp_path: Path) -> None:
    files = {"vf_tiny.py": "def load_environment(): ...\n", "helper/__init__.py": ""}
    wheel = write_wheel(tmp_path / "dist", files, name="vf_tiny")
    with open_release(str(wheel), tmp_path) as release:
        root = release.project.root
        _, facts = build_checked(
            load_project(root), tmp_path / "again", Silent(), check=False, offline=True
        )
        assert (facts.top_level, facts.exposes) == (("helper", "vf_tiny"), "v0")
    assert not root.exists()


def test_sources_that_were_edited_since_are_not_those_of_the_wheel(
    hub: HubClient, tmp_path: Path
) -> None:
    folder = write_project(tmp_path / "p")
    first = publish(hub, folder)
    (wheel,) = (folder / "dist").glob("*.whl")
    touch(folder)
    with open_release(str(wheel), folder) as release:
        assert release.project.root != folder
        assert release.content_hash != first.content_hash


def test_a_wheel_has_its_version(hub: HubClient, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path, {"tiny_env.py": "def load_environment(): ...\n"})
    with pytest.raises(UsageError, match="already has a version"):
        publish(hub, tmp_path, str(wheel), bump=VersionBump.PATCH)


def test_a_damaged_wheel_never_reaches_the_hub(hub: HubClient, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path, {"tiny_env.py": "def load_environment(): ...\n"})
    wheel.write_bytes(wheel.read_bytes()[:-40])
    with pytest.raises(IntegrityError):
        publish(hub, tmp_path, str(wheel))
    assert hub.environments.list().total_count == 0


def test_a_secret_never_reaches_the_hub(hub: HubClient, tmp_path: Path) -> None:
    folder = write_project(tmp_path / "p", Shape(files={"data/id_rsa": "x"}))
    with pytest.raises(UnsafeContent, match="key file"):
        publish(hub, folder)
    assert hub.environments.list().total_count == 0


STEPS = ("begin_wheel", "send", "finish_wheel", "begin_version", "finish_version", "put")
KILLED = """
    import os, signal, sys
    from pathlib import Path
    from prime_cli.client.api.environments import VersionDocuments
    from prime_cli.client.api.environments import Uploads
    from prime_cli.main import main

    step, when, folder = sys.argv[1:]
    group = VersionDocuments if step == "put" else Uploads
    real = getattr(group, step)

    def dying(self, *words):
        if when == "after":
            real(self, *words)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(group, step, dying)
    main(["env", "upload", folder, "--no-check"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.sample(2, "step")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_upload_is_finished_by_the_same_command(
    step: str, when: str, tmp_path: Path
) -> None:
    folder = write_project(tmp_path / "p")
    mark_published(prime_home() / "hub")  # the starters are published by the same steps
    _know_the_lock_of(folder)
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), step, when, str(folder)],
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    hub = open_hub(prime_home() / "hub")
    visible = [row.name for row in hub.environments.list(EnvironmentQuery(owner="ada")).data]
    complete = (step, when) == ("finish_version", "after") or step == "put"
    assert visible == (["tiny-env"] if complete else [])
    published = publish(hub, folder)
    assert (published.already, published.locked) == (complete, True)
    detail = hub.environments.get(published.ref)
    assert detail.wheel_url is not None
    hub.environments.download(
        detail.wheel_url, tmp_path / "w", sha256=published.wheel_sha256, progress=Silent()
    )
    assert versions(hub) == ["0.1.0"]


def _know_the_lock_of(folder: Path) -> None:
    """Record a lock as a check of the wheel would, so that attaching it is one of the steps."""
    wheel = build_wheel(load_project(folder), folder / "dist", Silent(), offline=True)
    save_lock(prime_home(), Lock(1, digest_file(wheel), "0.1.14", "v0", "3.11", "date", ()))

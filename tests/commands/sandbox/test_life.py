"""A sandbox of this machine by the commands, from its creation to its end."""

import time
from pathlib import Path

import pytest

from prime_cli.envs.project.starters import mark_published
from tests.helpers.cli import Prime
from tests.helpers.cli import prime_process as prime_outside
from tests.helpers.engines import podman_service
from tests.helpers.sandboxes import ended_supervisor
from tests.helpers.tools import needs_root

_RUNNING = "cat /proc/[0-9]*/comm"
SCRIPT = "import sys; print(6 * 7); print('oops', file=sys.stderr); sys.exit(4)"


@pytest.mark.slow
def test_a_sandbox_is_created_used_and_deleted(home: Path, tmp_path: Path, prime: Prime) -> None:
    data = home / ".prime" / "hub"
    mark_published(data)
    with ended_supervisor(data):
        made = prime("sandbox", "create", "--name", "box", "--wait", "-o", "json").ok().json
        assert (made["status"], made["docker_image"]) == ("RUNNING", "python:3.11-slim")
        other = prime("sandbox", "create", "--name", "a box", "-l", "told").ok()
        assert "on this system's own programs" in other.err
        assert "`prime sandbox run 'a box' -- COMMAND`" in other.err
        prime("sandbox", "delete", "--label", "told", "--yes").ok()
        (listed,) = prime("sandbox", "list", "-o", "json").ok().json["sandboxes"]
        assert (listed["id"], listed["resources"]) == (made["id"], "1CPU/2GB")

        ended = prime_outside("sandbox", "run", "box", "--", "python", "-c", SCRIPT)
        assert (ended.code, ended.out, ended.err) == (4, "42\n", "oops\n")
        other = prime_outside("sandbox", "run", "box", "--user", "nobody", "--", "id")
        assert (other.code, "provider `engine`" in other.err) == (2, True)
        piped = prime_outside("sandbox", "run", "box", "--", "wc", "-c", stdin="x" * 300_000)
        assert piped.ok().out.strip() == "300000"
        began = time.monotonic()
        late = prime_outside("sandbox", "run", "box", "--timeout", "1", "--", "sleep", "60")
        assert late.code == 3
        assert time.monotonic() - began < 30
        assert (
            "sleep" not in prime_outside("sandbox", "run", "box", "--", "bash", "-c", _RUNNING).out
        )

        (tmp_path / "a.txt").write_text("hello\n")
        folder = prime("sandbox", "download", "box", "/tmp", "c.txt", cwd=tmp_path)
        assert (folder.code, "/tmp is not a file" in folder.err) == (6, True)
        killed = prime_outside("sandbox", "run", "box", "--", "bash", "-c", "kill -9 $$")
        assert killed.code == 137
        assert "killed, as when the sandbox ends or its 2 GB of memory" in killed.err
        lost = prime_outside("sandbox", "run", "box", "-w", "/nowhere", "--", "ls")
        assert (lost.code, lost.err) == (127, "/nowhere: No such file or directory\n")
        prime("sandbox", "cp", "a.txt", "box:/tmp/deep/", cwd=tmp_path).ok()
        prime("sandbox", "download", "box", "/tmp/deep/a.txt", "b.txt", cwd=tmp_path).ok()
        assert (tmp_path / "b.txt").read_text() == "hello\n"
        kept = prime("sandbox", "download", "box", "/tmp/deep/a.txt", "b.txt", cwd=tmp_path)
        assert kept.code == 7
        assert prime("sandbox", "download", "box", "/nowhere", "c.txt", cwd=tmp_path).code == 6
        assert not (tmp_path / "c.txt").exists()

        taken = prime("sandbox", "network", "box", "--deny", "*").ok()
        assert "box reaches: nothing" in taken.err
        shown = prime("sandbox", "network", "box", "-o", "json").ok().json
        assert (shown["policy"]["allowlist"], shown["generation"]) == ([], 2)

        prime("sandbox", "delete", "box", "--yes").ok()
        assert prime("sandbox", "list", "-o", "json").ok().json["sandboxes"] == []
        assert prime("sandbox", "get", made["id"], "-o", "json").ok().json["status"] == "TERMINATED"
        for words in ("run box -- true", "upload box a.txt /tmp/", "cp box:/tmp/a.txt c.txt"):
            late = prime("sandbox", *words.split(), cwd=tmp_path)
            assert (late.code, "`box` has ended (TERMINATED)" in late.err) == (7, True)
        assert prime("sandbox", "get", "box", "-o", "json").ok().json["id"] == made["id"]
        assert prime("gc", "-o", "json").ok().json["leaks"] == []


@pytest.mark.slow
@needs_root
def test_a_sandbox_that_does_not_start_is_an_error(
    home: Path, tmp_path: Path, prime: Prime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTAINER_HOST", podman_service().url)
    data = home / ".prime" / "hub"
    mark_published(data)
    with ended_supervisor(data):
        # Nothing listens there.
        refused = prime("sandbox", "create", "localhost:1/nothing", "--name", "box", "--wait")
        assert (refused.code, "box did not start: " in refused.err) == (9, True), refused.err
        shown = prime("sandbox", "get", "box", "-o", "json").ok().json
        assert (shown["status"], shown["error_type"]) == ("ERROR", "IMAGE_PULL_FAILED")
        image = prime("sandbox", "download", "box", "/tmp", "x", cwd=tmp_path)
        assert (image.code, "has ended (ERROR: " in image.err) == (7, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("create --network everything", "`--network everything` is not one of"),
        ("create --env A", "`--env A` has no value"),
        ("create --network-allow a --network-deny b", "are mutually exclusive"),
        ("create python:3.11 sleep 60", "Write `--` before COMMAND"),
        ("create --timeout-minutes 0", "`--timeout-minutes` must be 1 or more, or -1"),
        ("create --arch s390x", "have its machine's architecture"),
        ("create --vm", "Sandboxes of this hub are not virtual machines"),
        ("list --status LOST", "`--status LOST` is not one of PENDING, PROVISIONING, RUNNING"),
        ("run box \"it's", "The command cannot be split into words: no closing quotation"),
        ("run box ls -l", "write `--` before COMMAND"),
        ("upload box . /tmp/", ". is a folder"),
        ("delete", "Name sandboxes, or pass `--all` or `--label`"),
        ("delete box --all", "Name sandboxes, or pass `--all` or `--label`"),
        ("cp a b", "One side must be in a sandbox, and the other here"),
        ("cp box:a box:b", "One side must be in a sandbox, and the other here"),
        ("network box --allow a --deny b", "`--deny` and `--level` are mutually exclusive"),
        ("network box --allow a,*", "`--allow` takes hosts with commas between, or `*` alone"),
        ("network box --level all", "`--level all` is not one of packages, internet, none"),
        ("cp a", "Pass a source and a destination"),
    ],
)
def test_words_that_make_no_sense_are_refused(
    home: Path, prime: Prime, words: str, said: str
) -> None:
    mark_published(home / ".prime" / "hub")
    refused = prime("sandbox", *words.split())
    assert refused.code == 2
    assert said in refused.err

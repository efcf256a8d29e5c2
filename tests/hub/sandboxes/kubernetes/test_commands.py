"""Commands in a pod, over the WebSocket protocol of Kubernetes, and how a pod ends."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.errors import NotFound, UsageError
from prime_cli.hub.sandboxes.kubernetes.provider import KubernetesProvider
from prime_cli.hub.sandboxes.kubernetes.sandbox import EndScanner, read_status
from prime_cli.hub.sandboxes.provider import End, ExecSpec
from tests.helpers.kubernetes import ScriptedCluster
from tests.helpers.tools import needs
from tests.hub.sandboxes.kubernetes.clusters import TAG, a_spec, created, output_of, with_provider

pytestmark = needs("unshare")


@pytest.mark.parametrize("protocol", ["v4.channel.k8s.io", "v5.channel.k8s.io"])
def test_a_command_has_its_streams_and_exit_code(cluster: ScriptedCluster, protocol: str) -> None:
    cluster.protocols = (protocol,)

    async def work(provider: KubernetesProvider) -> tuple[int, bytes, bytes]:
        async with created(provider, a_spec(variables={"GIVEN": "1"})) as sandbox:
            line = "echo $GIVEN $A; pwd; echo no >&2; exit 3"
            return await output_of(
                sandbox, "/bin/sh", "-c", line, env={"A": "it's 2"}, cwd="/usr/lib"
            )

    assert with_provider(work) == (3, b"1 it's 2\n/usr/lib\n", b"no\n")


@pytest.mark.parametrize("name", ["A=b", "plain"])
def test_a_command_may_have_any_name(cluster: ScriptedCluster, name: str) -> None:
    programs = cluster.tmp / ".local" / "bin"
    programs.mkdir(parents=True)
    program = programs / name
    program.write_text('#!/bin/sh\necho "$0 $1 $GIVEN"; exit 7\n')
    program.chmod(0o755)
    inside = f"/tmp/.local/bin/{name}"

    async def work(provider: KubernetesProvider) -> list[tuple[int, bytes, bytes]]:
        async with created(provider) as sandbox:
            found = [
                await output_of(sandbox, *argv, env={"GIVEN": "1"})
                for argv in ((name, "C=d"), (inside, "-i"), ("E=f",), ("-c", "echo no"))
            ]
            return [*found, await output_of(sandbox, "exit", "0")]

    in_path, by_path, missing, option, builtin = with_provider(work)
    assert in_path == (7, f"{inside} C=d 1\n".encode(), b"")
    assert by_path == (7, f"{inside} -i 1\n".encode(), b"")
    for code, out, err in (missing, option, builtin):
        assert (code, out) == (127, b"")
        assert b"not found" in err


def test_stdin_goes_in_whole_and_ends(cluster: ScriptedCluster) -> None:
    content = bytes(range(256)) * 1000

    async def work(provider: KubernetesProvider) -> tuple[int, bytes, bytes]:
        async with created(provider) as sandbox:
            return await output_of(sandbox, "cat", send=content)

    assert with_provider(work) == (0, content, b"")


def test_a_cluster_that_cannot_end_stdin_says_so(cluster: ScriptedCluster) -> None:
    cluster.protocols = ("v4.channel.k8s.io",)

    async def work(provider: KubernetesProvider) -> None:
        async with created(provider) as sandbox:
            with pytest.raises(UsageError, match="cannot end the input"):
                await output_of(sandbox, "cat", send=b"x")

    with_provider(work)


def test_a_signal_reaches_what_the_command_has_started(cluster: ScriptedCluster) -> None:
    async def work(provider: KubernetesProvider) -> int:
        async with created(provider) as sandbox:
            line = "trap 'exit 9' TERM; sleep 60 & echo ready; wait"
            command = await sandbox.run(ExecSpec(("/bin/sh", "-c", line)))
            assert await command.stdout.read(100) == b"ready\n"
            await command.signal(15)
            return await command.wait()

    assert with_provider(work) == 9


def test_a_command_ends_though_its_output_is_held_open(cluster: ScriptedCluster) -> None:
    """The scripted cluster says how it ended only after the output, as a node does."""
    cluster.waits_for_output = True

    async def work(provider: KubernetesProvider) -> tuple[int, bytes, bytes]:
        async with created(provider) as sandbox:
            return await output_of(sandbox, "/bin/sh", "-c", "sleep 30 & echo left; exit 4")

    assert with_provider(work) == (4, b"left\n", b"")


def test_another_user_is_refused_with_who_has_it(cluster: ScriptedCluster) -> None:
    async def work(provider: KubernetesProvider) -> None:
        async with created(provider) as sandbox:
            assert (await output_of(sandbox, "true", user="1000"))[0] == 0
            with pytest.raises(UsageError, match="not as `root`") as caught:
                await sandbox.run(ExecSpec(("true",), user="root"))
            assert "PRIME_KUBERNETES_ROOT" in (caught.value.hint or "")

    with_provider(work)


def test_a_connection_that_is_lost_is_not_taken_for_an_end(cluster: ScriptedCluster) -> None:
    async def work(provider: KubernetesProvider) -> tuple[int, bytes]:
        async with created(provider) as sandbox:
            command = await sandbox.run(ExecSpec(("sleep", "60")))
            await command._socket.close()  # type: ignore[attr-defined]
            return await command.wait(), await command.stderr.read(200)

    code, said = with_provider(work)
    assert code == 137
    assert said == b"prime: the connection to the cluster ended before the command did\n"


ENDS = [
    (
        {"phase": "Failed", "reason": "DeadlineExceeded", "message": "active too long"},
        End("TIMEOUT", "its time is over"),
    ),
    (
        {"phase": "Failed", "reason": "Evicted", "message": "ephemeral storage exceeds 1G"},
        End("TERMINATED", "its node evicted it: ephemeral storage exceeds 1G"),
    ),
    (
        {
            "phase": "Failed",
            "containerStatuses": [
                {"name": "sandbox", "state": {"terminated": {"reason": "OOMKilled"}}}
            ],
        },
        End("OOM_KILLED", "it ran out of memory"),
    ),
    ({"phase": "Succeeded"}, End("TERMINATED", "its first process was ended")),
    (
        {"phase": "Failed", "reason": "NodeLost", "message": "node-1 is gone"},
        End("TERMINATED", "NodeLost: node-1 is gone"),
    ),
]


@pytest.mark.parametrize(("status", "end"), ENDS, ids=[end.sentence[:20] for _, end in ENDS])
def test_the_end_of_a_pod_has_its_reason(
    cluster: ScriptedCluster, status: dict[str, object], end: End
) -> None:
    async def work(provider: KubernetesProvider) -> End:
        async with created(provider) as sandbox:
            command = await sandbox.run(ExecSpec(("sleep", "60")))
            await asyncio.to_thread(cluster.set_status, TAG, status)
            found = await sandbox.gone()
            assert sandbox.is_gone
            assert await command.wait() == 137
            with pytest.raises(NotFound):
                await sandbox.run(ExecSpec(("true",)))
            return found

    assert with_provider(work) == end


def test_a_pod_that_somebody_else_deletes_is_gone(cluster: ScriptedCluster) -> None:
    async def work(provider: KubernetesProvider) -> End:
        async with created(provider) as sandbox:
            await asyncio.to_thread(cluster.delete_pod, TAG)
            return await sandbox.gone()

    assert with_provider(work).sentence == "it was deleted from the cluster"


@given(st.binary(max_size=200))
def test_any_end_of_a_command_is_read(data: bytes) -> None:
    code, why = read_status(data)
    assert 0 <= code <= 255
    assert why or code != 126


@given(st.integers(1, 255))
def test_an_exit_code_is_read_back(code: int) -> None:
    cause = f'{{"reason": "ExitCode", "message": "{code}"}}'
    status = f'{{"status": "Failure", "details": {{"causes": [{cause}]}}}}'
    assert read_status(status.encode()) == (code, None)


@given(
    st.lists(st.sampled_from([b"x", b"end", b"end:", b"\n", b"7", b"ab"]), max_size=8),
    st.integers(0, 255),
    st.data(),
)
def test_an_exit_code_is_found_however_the_stream_is_cut(
    before: list[bytes], code: int, data: st.DataObject
) -> None:
    text = b"".join(each for each in before if each != b"end:")
    stream = text + b"end-1:" + str(code).encode() + b"\nafter"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    scanner, passed, codes = EndScanner(b"end-1:"), b"", []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        rest, found = scanner.scan(stream[begin:end])
        passed += rest
        codes += [] if found is None else [found]
    assert codes == [code]
    assert passed + scanner.held == text + b"after"

import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from prime_cli.core.errors import UsageError
from prime_cli.core.options import option_fields
from prime_cli.hub.compute.engine.provider import EnginePods
from prime_cli.hub.serving.identity import IdentityOptions
from prime_cli.hub.serving.options import LimitOptions, ServeOptions
from prime_cli.hub.serving.pods import ServedPodOptions
from tests.helpers.plugins import write_plugin

ROOT = Path(__file__).parents[3]


@pytest.mark.enable_socket  # the address is one of this machine, and nothing leaves it
def test_a_hub_on_all_addresses_prints_one_that_opens() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        options = ServeOptions(Path("x"), host="0.0.0.0", port=server.getsockname()[1])
        parts = urlsplit(options.url)
        assert parts.hostname not in (None, "0.0.0.0")
        socket.create_connection((parts.hostname, parts.port), timeout=5).close()


@pytest.mark.parametrize(
    ("options", "url"),
    [
        (ServeOptions(Path("x")), "http://127.0.0.1:8480"),
        (ServeOptions(Path("x"), host="::1", port=1), "http://[::1]:1"),
        (ServeOptions(Path("x"), tls_cert=Path("c")), "https://127.0.0.1:8480"),
        (ServeOptions(Path("x"), public_url="https://hub.example/"), "https://hub.example"),
        (
            ServeOptions(Path("x"), host="0.0.0.0", tls_cert=Path("c")),
            f"https://{socket.gethostname()}:8480",
        ),
    ],
)
def test_address_of_a_hub_is_one_that_clients_can_call(options: ServeOptions, url: str) -> None:
    assert options.url == url


@pytest.mark.parametrize(
    "options",
    [
        ServeOptions(Path("x"), public_url="hub.example.org"),
        ServeOptions(Path("x"), public_url="ftp://hub.example.org"),
        ServeOptions(Path("x"), public_url="https://hub.example.org:99999"),
        ServeOptions(Path("x"), upstream="https://ada:s3cret@hub.example.org", open_upstream=repr),  # type: ignore[arg-type]
    ],
)
def test_address_that_no_client_can_call_is_refused(options: ServeOptions) -> None:
    with pytest.raises(UsageError, match="is not the address of a hub") as raised:
        options.settings()
    assert "s3cret" not in str(raised.value)


def test_key_of_the_seal_is_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PRIME_HUB_SECRET_KEY", "k" * 44)
    options = ServeOptions(tmp_path)
    assert options.settings().secret_key == "k" * 44
    assert "k" * 44 not in repr(options)


def test_pods_on_the_hubs_machine_need_the_operators_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTAINER_HOST", "unix:///run/engine.sock")
    assert list(ServeOptions(tmp_path).settings().providers) == []
    pods = ServedPodOptions(local_pods=True, pod_images="a, b", pods_host="::1")
    options = ServeOptions(tmp_path, pods=pods)
    url, folder = "unix:///run/engine.sock", tmp_path / "engine"
    assert list(options.settings().providers) == [EnginePods(url, ("a", "b"), folder, "::1")]


def test_sandboxes_may_be_made_by_a_provider_of_another_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin(tmp_path, "prime.sandboxes", far="builtins:str")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = ServedPodOptions(sandboxes="far, engine").sandbox_settings(tmp_path)
    assert getattr(found, "providers", None) == ("far", "engine")


@pytest.mark.parametrize("message", ["`gone` is not a provider", "bubblewrap does not keep"])
def test_who_makes_sandboxes_must_be_there_and_keep_users_apart(message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ServedPodOptions(sandboxes=message.split(maxsplit=1)[0].strip("`")).sandbox_settings(
            Path("x")
        )


HERE = ServedPodOptions(local_pods=True)
THERE = ServedPodOptions(local_pods=True, pods_host="10.0.0.5")


@pytest.mark.parametrize(
    ("options", "hidden"),
    [
        (ServeOptions(Path("x"), public_url="https://hub.example"), False),
        (ServeOptions(Path("x"), pods=HERE), False),
        (ServeOptions(Path("x"), pods=HERE, public_url="https://hub.example"), True),
        (ServeOptions(Path("x"), pods=HERE, host="10.0.0.5"), True),
        (
            ServeOptions(
                Path("x"),
                host="10.0.0.5",
                pods=ServedPodOptions(local_pods=True, pods_host="10.0.0.5"),
            ),
            False,
        ),
    ],
)
def test_pods_that_only_this_machine_reaches_are_known(options: ServeOptions, hidden: bool) -> None:
    assert options.hides_pods == hidden


def test_every_variable_of_the_server_is_in_the_guide() -> None:
    source = (ROOT / "prime_cli/commands/hub/serve.py").read_text(encoding="utf-8")
    guide = (ROOT / "docs/hub.md").read_text(encoding="utf-8")
    variables = re.findall(r'(?:envvar|variable)="(PRIME_HUB_\w+)"', source)
    for record in (LimitOptions, IdentityOptions, ServedPodOptions):
        variables += [each.option.variable for each in option_fields(record)]
    assert len(variables) > 30
    assert [name for name in variables if f"`{name}`" not in guide] == []

"""What of this machine is shown in a sandbox of bubblewrap."""

from pathlib import Path

import pytest

from prime_cli.hub.sandboxes.bubblewrap import provider

shown_path = provider._shown_path


def test_a_link_out_of_what_is_shown_is_shown_as_what_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /etc/ssl/certs leads to /var on openSUSE."""
    shown, hidden = tmp_path / "usr", tmp_path / "var"
    for each in (shown, hidden):
        each.mkdir()
    (shown / "lib").mkdir()
    within, beyond = tmp_path / "lib", tmp_path / "certs"
    within.symlink_to("usr/lib")
    beyond.symlink_to("var")
    monkeypatch.setattr(provider, "SYSTEM", (str(shown), str(within), str(beyond)))
    assert shown_path(within).options == ["--symlink", "usr/lib", str(within)]
    (hidden / "a.pem").write_text("A")
    (hidden / "b.pem").write_text("B")
    assert shown_path(beyond).options == ["--ro-bind-try", str(beyond), str(beyond)]
    assert shown_path(tmp_path / "none") == provider.System([], {})


def test_what_is_small_is_copied_for_it_takes_less_time_than_a_mount(tmp_path: Path) -> None:
    empty, library, linked, configured, several, nested, program = (
        tmp_path / name
        for name in ("games", "lib.conf", "lib64", "etc", "conf.d", "src", "program")
    )
    for folder in (empty, linked, configured, several, nested):
        folder.mkdir()
    library.write_text("include")
    (linked / "ld.so").symlink_to("/lib/ld.so")
    (configured / "npmrc").write_text("prefix")
    for name in ("a", "b"):
        (several / name).write_text(name)
    (nested / "linux").mkdir()
    program.touch(0o755)
    (large := tmp_path / "mime.types").write_bytes(bytes(16 * 1024 + 1))

    assert shown_path(empty).options == ["--dir", str(empty)]
    assert shown_path(library) == provider.System([], {str(library): b"include"})
    assert shown_path(linked).options == ["--symlink", "/lib/ld.so", str(linked / "ld.so")]
    assert shown_path(configured).files == {str(configured / "npmrc"): b"prefix"}
    for each in (several, nested, program, large):
        assert shown_path(each).options == ["--ro-bind-try", str(each), str(each)]

"""What of this machine is shown in a sandbox of bubblewrap."""

from pathlib import Path

import pytest

from prime_cli.hub.sandboxes.bubblewrap import options


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
    monkeypatch.setattr(options, "SYSTEM", (str(shown), str(within), str(beyond)))
    assert options._shown(within).options == ["--symlink", "usr/lib", str(within)]
    (hidden / "a.pem").write_text("A")
    (hidden / "b.pem").write_text("B")
    assert options._shown(beyond).options == ["--ro-bind-try", str(beyond), str(beyond)]
    assert options._shown(tmp_path / "none") == options.System([], {})


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

    assert options._shown(empty).options == ["--dir", str(empty)]
    assert options._shown(library) == options.System([], {str(library): b"include"})
    assert options._shown(linked).options == ["--symlink", "/lib/ld.so", str(linked / "ld.so")]
    assert options._shown(configured).files == {str(configured / "npmrc"): b"prefix"}
    for each in (several, nested, program, large):
        assert options._shown(each).options == ["--ro-bind-try", str(each), str(each)]

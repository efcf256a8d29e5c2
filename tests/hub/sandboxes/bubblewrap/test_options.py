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
    assert options._shown(within) == ["--symlink", "usr/lib", str(within)]
    assert options._shown(beyond) == ["--ro-bind-try", str(beyond), str(beyond)]
    assert options._shown(tmp_path / "none") == []

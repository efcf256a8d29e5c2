"""What is printed of a run when it ends."""

from pathlib import Path

from prime_cli.commands.eval.summary import tried_lines
from prime_cli.wire.codec import encode
from prime_cli.wire.locks import Lock, TriedRelease


def test_the_search_is_one_table_in_its_order(tmp_path: Path) -> None:
    tried = (
        TriedRelease("as of today", "it has no v0 API", "0.4.0"),
        TriedRelease("trying verifiers 0.1.9", "no set of packages works"),
    )
    lock = Lock(1, "0" * 64, "0.1.12", "v0", "3.11", "search", (), "2026-05-07T06:12", tried=tried)
    file = tmp_path / "lock.json"
    file.write_bytes(encode(lock))

    assert tried_lines(file) == [
        "verifiers    packages of  Result",
        "0.4.0        today        it has no v0 API",
        "-            today        no set of packages works",
        "0.1.12       2026-05-07   taken (search)",
    ]


def test_a_run_without_a_lock_has_no_table(tmp_path: Path) -> None:
    assert tried_lines(tmp_path / "lock.json") == []

"""The first cause of a chain of exceptions is said, and a host out of reach in plain words."""

import traceback
from pathlib import Path

import pytest

from prime_cli.runtime.causes import cause_of, end_of_log, unreachable_host, unreachable_words


def trace(*, explicit: bool) -> str:
    inner = FileNotFoundError(2, "No such file", "words.json")
    error = RuntimeError("cannot load")
    error.__cause__ = inner if explicit else None
    return "".join(traceback.format_exception(error))


def test_the_first_exception_of_a_chain_is_the_cause() -> None:
    assert cause_of(trace(explicit=True)) == (
        "FileNotFoundError: [Errno 2] No such file: 'words.json'"
    )
    assert cause_of(trace(explicit=False)) is None
    assert cause_of("") is None


def test_an_exception_of_a_module_or_without_words_is_a_cause_too() -> None:
    chained = (
        'Traceback (most recent call last):\n  File "a.py", line 1\n    get()\n'
        "{}\n\nDuring handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\nValueError: no data\n"
    )
    assert cause_of(chained.format("httpx.ConnectError: refused")) == "ConnectError: refused"
    assert cause_of(chained.format("StopIteration")) == "StopIteration"


@pytest.mark.parametrize(
    ("said", "host"),
    [
        (
            (
                "(MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max "
                'retries exceeded with url: /api"))'
            ),
            "huggingface.co",
        ),
        ("Failed to resolve 'files.example.org' ([Errno -3] …)", "files.example.org"),
        ("ConnectionError: Couldn't reach 'openai/gsm8k' on the Hub (X)", "huggingface.co"),
        ("Couldn't reach the Hugging Face Hub for dataset 'x': Offline", "huggingface.co"),
        ("Cannot reach https://huggingface.co/api/x: offline mode is enabled.", "huggingface.co"),
        ("We couldn't connect to 'https://hf.example.org' to load", "hf.example.org"),
        ("huggingface_hub.errors.LocalEntryNotFoundError: …", "huggingface.co"),
        (
            "'[Errno -2] Name or service not known' thrown while requesting HEAD https://hf.co/x",
            "hf.co",
        ),
        ("FileNotFoundError: huggingface.co has no dataset `x`", None),
        ("", None),
    ],
)
def test_a_host_out_of_reach_is_read_from_what_libraries_say(said: str, host: str | None) -> None:
    assert unreachable_host(said) == host


def test_what_can_be_done_offline_is_said() -> None:
    words, hint = unreachable_words("huggingface.co")
    assert words == "huggingface.co cannot be reached"
    assert "HF_HOME" in hint
    assert "HF_HOME" not in unreachable_words("files.example.org")[1]


def test_a_log_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert end_of_log(tmp_path / "worker.log") == ""

"""A training as one HTML file."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from prime_cli.runtime.interpreters import Interpreter
from tests.helpers.cli import Prime
from tests.helpers.environments import small_interpreter
from tests.helpers.training import TRAINED, Trained, train_scripted

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return small_interpreter(tmp_path_factory.mktemp("talker"), TRAINED)


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def _page(prime: Prime, trained: Trained, *words: str) -> str:
    out = trained.folder / "page.html"
    done = prime("train", "show", str(trained.folder), "--html", str(out), *words)
    assert done.code == 0, done.err
    return out.read_text(encoding="utf-8")


def test_a_training_is_drawn_in_one_file(prime: Prime, talker: Interpreter, tmp_path: Path) -> None:
    trained = train_scripted(talker, tmp_path, steps=4, eval_examples=4)
    page = _page(prime, trained)
    assert "Mean reward: in training ends at" in page
    assert "held out ends at 1" in page
    assert "Loss: ends at 0.25" in page
    assert "the last 4 of 24 examples" in page
    again = prime("train", "show", str(trained.folder), "--html", str(trained.folder / "page.html"))
    assert again.code == 7
    assert "--force" in again.err
    _page(prime, trained, "--force")


def test_names_in_a_training_stay_text(prime: Prime, talker: Interpreter, tmp_path: Path) -> None:
    trained = train_scripted(talker, tmp_path, steps=2)
    _rewrite(trained.folder / "metrics.jsonl")
    manifest = json.loads((trained.folder / "run.json").read_text())
    manifest["plan"]["model"] = manifest["training"]["held_out"] = HOSTILE
    (trained.folder / "run.json").write_text(json.dumps(manifest))
    reader = Elements()
    reader.feed(_page(prime, trained))
    tags = {tag for tag, _ in reader.found}
    assert not tags & {"script", "img", "iframe", "link", "a", "form"}
    names = {name for _, attributes in reader.found for name in attributes}
    assert not {name for name in names if name.startswith("on")} | ({"src", "href"} & names)
    (policy,) = (each["content"] for tag, each in reader.found if "http-equiv" in each)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def _rewrite(path: Path) -> None:
    """Give every step metrics with a hostile name, which grow from step to step."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    grown = [line | {"extra": {HOSTILE: line["step"]}} for line in lines]
    grown = [line | {"seconds": {HOSTILE: line["step"]}} for line in grown]
    path.write_text("".join(json.dumps(line) + "\n" for line in grown), encoding="utf-8")

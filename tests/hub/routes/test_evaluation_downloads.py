"""Evaluations as files, for those who may see them."""

import csv
import io
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from tests.hub.accounts_hub import AccountsHub
from tests.hub.evaluating import finished
from tests.hub.pushing import Push
from tests.hub.routes.browsing import open_browser

FORMS = ("jsonl", "csv", "parquet", "html")
SAMPLES: list[dict[str, Any]] = [
    {
        "example_id": number // 2,
        "rollout_number": number % 2,
        "sample_id": f"{number // 2}.{number % 2}",
        "reward": None if number == 3 else number / 4,
        "error": "it broke" if number == 3 else None,
        "completion": "</script><b>\u00e9",
    }
    for number in range(4)
]


@pytest.fixture
def page(client: httpx.Client) -> str:
    Push(client).run()
    return f"/dashboard/evaluations/{finished(client, SAMPLES)}"


def test_the_page_links_every_form_and_each_is_an_attachment(
    client: httpx.Client, page: str
) -> None:
    links = re.findall(r'href="([^"]+)" download>', client.get(page).text)
    assert links == [f"{page}/download.{form}" for form in FORMS]
    for link, form in zip(links, FORMS, strict=True):
        answer = client.get(link)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-disposition"].endswith(f'.{form}"')
        assert answer.headers["content-security-policy"].startswith("sandbox")
    assert client.get(f"{page}/download.exe").status_code == 404


def test_json_lines_are_the_samples_as_they_were_pushed(client: httpx.Client, page: str) -> None:
    lines = client.get(f"{page}/download.jsonl").content.splitlines()
    assert [json.loads(line) for line in lines] == SAMPLES


def test_csv_and_parquet_have_a_row_for_each_sample(client: httpx.Client, page: str) -> None:
    text = client.get(f"{page}/download.csv").content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["example_id"], row["rollout"]) for row in rows] == [
        ("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")
    ]  # fmt: skip
    table = pq.read_table(io.BytesIO(client.get(f"{page}/download.parquet").content))
    assert table["reward"].to_pylist() == [0.0, 0.25, 0.5, None]


def test_nothing_of_a_download_stays_on_the_hub(
    client: httpx.Client, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for form in FORMS:
        client.get(f"{page}/download.{form}")
    with client.stream("GET", f"{page}/download.html"):
        pass
    assert list(tmp_path.glob("prime-download-*")) == []


def test_a_private_evaluation_is_downloaded_by_its_owner_alone(accounts_hub: AccountsHub) -> None:
    accounts_hub.user("ada")
    ada = accounts_hub.client(accounts_hub.key("ada"))
    Push(ada, visibility="PRIVATE").run()
    page = f"/dashboard/evaluations/{finished(ada, SAMPLES, is_public=False)}"
    owner, stranger = open_browser(accounts_hub), open_browser(accounts_hub)
    owner.sign_in(accounts_hub.key("ada"))
    for form in FORMS:
        assert owner.get(f"{page}/download.{form}").status_code == 200
        assert stranger.get(f"{page}/download.{form}").status_code == 404

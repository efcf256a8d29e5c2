"""Name the capital of a country; the questions are a file of the package."""

import json
from importlib.resources import files
from typing import Any

import verifiers as vf
from datasets import Dataset

SYSTEM_PROMPT = "Reply with the name of the city and nothing else."


def read_rows(region: str | None = None) -> list[dict[str, str]]:
    """The questions, by default those of all regions."""
    # Relative to the package: the working directory is where the user is.
    lines = (files(__package__) / "data" / "capitals.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    return [
        {"question": f"What is the capital of {row['country']}?", "answer": row["capital"]}
        for row in rows
        if region in (None, row["region"])
    ]


def load_environment(region: str | None = None) -> vf.Environment:
    """The environment, with the countries of `region` or all of them."""
    parser = vf.Parser()

    def is_capital(completion: Any, answer: str) -> float:
        said = (parser.parse_answer(completion) or "").strip().rstrip(".")
        return float(said.casefold() == answer.casefold())

    return vf.SingleTurnEnv(
        eval_dataset=Dataset.from_list(read_rows(region)),
        system_prompt=SYSTEM_PROMPT,
        parser=parser,
        rubric=vf.Rubric(funcs=[is_capital], parser=parser),
    )

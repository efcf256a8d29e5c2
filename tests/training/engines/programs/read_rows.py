"""Run by TRL's interpreter. Prints how TRL's SFTTrainer reads a file of rows, and how prime does.

Arguments: a folder to work in, the file, and names of TRL's chat templates. A line of JSON for each
template: the `ids` and `labels` of TRL, and those of prime, with the marks of the template and
without.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import trl.chat_template_utils as templates
from datasets import load_dataset
from prime_trl.supervised import tokenize
from prime_trl.tiny import write_tiny_model
from prime_trl.tools import template_of
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer

FOLDER, FILE = Path(sys.argv[1]), sys.argv[2]
_MARKS = re.compile(r"{%-?\s*(end)?generation\s*-?%}")


def theirs(tokenizer: Any) -> list[dict[str, Any]]:
    """The rows as SFTTrainer holds them."""
    data = load_dataset("json", data_files=FILE, split="train", cache_dir=str(FOLDER / "cache"))
    config = SFTConfig(
        output_dir=str(FOLDER / "out"),
        assistant_only_loss=True,
        max_length=None,
        report_to=[],
        use_cpu=True,
        bf16=False,
    )
    model = str(FOLDER / "tiny")
    trainer = SFTTrainer(model, args=config, train_dataset=data, processing_class=tokenizer)
    return [
        {"input_ids": row["input_ids"], "labels": row["labels"]} for row in trainer.train_dataset
    ]


def ours(tokenizer: Any, template: str) -> list[Any]:
    """The rows as prime makes them."""
    lines = Path(FILE).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [
        tokenize(tokenizer, row["messages"], json.loads(row["tools"]) or None, template)
        for row in rows
    ]


write_tiny_model(FOLDER / "tiny", 0)
for name in sys.argv[3:]:
    own = AutoTokenizer.from_pretrained(FOLDER / "tiny")
    own.chat_template = getattr(templates, f"{name}_chat_template")
    marked = template_of(own) or own.chat_template
    found = {
        "theirs": theirs(own),
        "marked": ours(own, marked),
        "plain": ours(own, _MARKS.sub("", marked)),
    }
    print(json.dumps(found))

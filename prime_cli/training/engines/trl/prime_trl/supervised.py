"""Supervised fine-tuning: conversations as rows of ids, in which only the answers are learned."""

import json
from pathlib import Path
from typing import Any

from datasets import Dataset
from jinja2.exceptions import TemplateError
from transformers import AutoConfig
from trl.chat_template_utils import has_generation_markers, is_chat_template_stop_token_trained

from .config import Config
from .failures import Stopped
from .service import Service
from .tools import template_of, with_objects

ROWS = "data.jsonl"
"""In the folder of the training."""
_MASKED = -100
"""The label of a token that is not learned."""


class SupervisedRows:
    """The rows of a training's folder, by the model's chat template."""

    def __init__(self, config: Config, folder: Path, tokenizer: Any, service: Service) -> None:
        self._path, self._tokenizer, self._service = folder / ROWS, tokenizer, service
        self._batch, self._room = config.batch, _room_of(config)
        self._template = template_of(tokenizer) or str(tokenizer.chat_template)
        self.longest = max(map(len, self.read()["input_ids"]))

    def read(self, *, say: bool = False) -> Dataset:
        """`input_ids` and `labels` of each row; `say` how many are left out.

        Raises Stopped if too few are left for a step.
        """
        kept: list[dict[str, list[int]]] = []
        strange = long = 0
        for line in self._path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            tools = row.get("tools") or None
            tools = json.loads(tools) if isinstance(tools, str) else tools
            found = tokenize(self._tokenizer, row["messages"], tools or None, self._template)
            if found is None:
                strange += 1
            elif len(found["input_ids"]) > self._room:
                long += 1
            else:
                kept.append(found)
        words = [
            f"{strange} rows whose answers the chat template does not show apart"
            if strange
            else "",
            f"{long} rows longer than the {self._room} tokens of the context" if long else "",
        ]
        left_out = ", ".join(filter(None, words))
        if len(kept) < self._batch:
            raise Stopped(
                "usage",
                f"{len(kept)} rows to learn from cannot fill a step of {self._batch}"
                + (f"; left out: {left_out}" if left_out else ""),
                f"`--batch {max(1, len(kept))}`, or more rows",
            )
        if say:
            self._service.say(f"{len(kept)} rows{f'; left out: {left_out}' if left_out else ''}")
            self._warn()
        return Dataset.from_list(kept)

    def _warn(self) -> None:
        if has_generation_markers(self._template) and not is_chat_template_stop_token_trained(
            self._tokenizer, self._template
        ):
            self._service.say("The chat template marks no end of a turn: it is not learned")


def _room_of(config: Config) -> int:
    described = AutoConfig.from_pretrained(config.model, trust_remote_code=config.trust_remote_code)
    return int(getattr(described.get_text_config(), "max_position_embeddings", None) or 1 << 30)


def tokenize(
    tokenizer: Any, messages: list[Any], tools: list[Any] | None, template: str
) -> dict[str, list[int]] | None:
    """The conversation's ids, and labels of its answers; None if these cannot be told from the
    rest, or the template refuses it.
    """
    try:
        return _tokenize(tokenizer, with_objects(messages), tools, template)
    except TemplateError:
        return None


def _tokenize(
    tokenizer: Any, messages: list[Any], tools: list[Any] | None, template: str
) -> dict[str, list[int]] | None:
    options = {"tools": tools, "chat_template": template}
    if has_generation_markers(template):
        found = tokenizer.apply_chat_template(
            messages, return_dict=True, return_assistant_tokens_mask=True, **options
        )
        ids, mask = list(found["input_ids"]), list(found["assistant_masks"])
    else:
        text = tokenizer.apply_chat_template(messages, tokenize=False, **options)
        spans = _answers(tokenizer, messages, text, options)
        if spans is None:
            return None
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids = list(found["input_ids"])
        mask = [
            int(any(start <= first and last <= end for start, end in spans))
            for first, last in found["offset_mapping"]
        ]
    if 1 not in mask:
        return None
    labels = [each if told else _MASKED for each, told in zip(ids, mask, strict=True)]
    return {"input_ids": ids, "labels": labels}


def _answers(
    tokenizer: Any, messages: list[Any], text: str, options: dict[str, Any]
) -> list[tuple[int, int]] | None:
    """Where `text` has what the model would sample: from the end of its prompt to the end of its
    turn. None if a part of the conversation is not rendered as in the whole.
    """
    found = []
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        asked = tokenizer.apply_chat_template(
            messages[:index], tokenize=False, add_generation_prompt=True, **options
        )
        said = tokenizer.apply_chat_template(messages[: index + 1], tokenize=False, **options)
        if not text.startswith(said) or not said.startswith(asked):
            return None
        # What follows the end of the turn, such as a line break, is never sampled.
        end = len(said.rstrip()) if said.rstrip().endswith(tokenizer.eos_token) else len(said)
        found.append((len(asked), end))
    return found

"""A tokenizer over single bytes for any chat template, for programs in TRL's interpreter."""

import re
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

OWN = ["<eos>", "<pad>", "<bos>"]
# Written as plain text by the models that know them.
PLAIN = re.compile(r"</|<think>|<tool|<function|<parameter|<arg")


def tokenizer_of(template: str) -> Any:
    """Single bytes, and the marks of the template; its `eos_token` is another than the end."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    whole = Tokenizer(models.BPE(vocab={mark: n for n, mark in enumerate(alphabet)}, merges=[]))
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    whole.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=whole,
        eos_token=OWN[0],
        pad_token=OWN[1],
        bos_token=OWN[2],
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
    marks = sorted(set(re.findall(r"<[|\uff5c/\w\u2581][^<>\s'\"{}%]*>", template)) - {*OWN})
    fast.add_special_tokens(
        {"additional_special_tokens": [mark for mark in marks if not PLAIN.match(mark)]}
    )
    fast.chat_template = template
    return fast

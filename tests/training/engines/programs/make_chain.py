"""Run by TRL's interpreter: models that say what they are to say.

Reads JSON from stdin: [[FOLDER, KIND, TEMPLATE, PIECES], ...]. Such a model says the pieces in
turn, whatever it is asked: each is a token, which is followed by the next. KIND is `qwen3` or
`llama`, TEMPLATE a name of TRL's chat templates.
"""

import json
import string
import sys

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)
from trl import chat_template_utils as templates

CONFIGS = {"qwen3": (Qwen3Config, Qwen3ForCausalLM), "llama": (LlamaConfig, LlamaForCausalLM)}

MARKS = [f"<\uff5c{name}\uff5c>" for name in ("User", "Assistant")]


def write(folder, kind, template, pieces):
    end = pieces[-1]
    letters = [*sorted(string.printable), "<unk>", "<pad>", "<end>"]
    vocabulary = {letter: number for number, letter in enumerate(letters)}
    whole = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    whole.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    whole.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=whole, unk_token="<unk>", pad_token="<pad>", eos_token="<end>"
    )
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in pieces[:-1]])
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", *MARKS, end]})
    tokenizer.chat_template = getattr(templates, f"{template}_chat_template")
    asked = [{"role": "user", "content": "a"}]
    prompt = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    said = [tokenizer.encode(prompt, add_special_tokens=False)[-1]]
    said += [tokenizer.convert_tokens_to_ids(piece) for piece in pieces]
    size = len(tokenizer)
    config_class, model_class = CONFIGS[kind]
    config = config_class(
        vocab_size=size,
        hidden_size=size + size % 2,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.convert_tokens_to_ids(end),
        bos_token_id=None,
    )
    model = model_class(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" not in name:
                weight.zero_()
        model.model.embed_tokens.weight[:, :size] = torch.eye(size)
        for token, following in zip(said, [*said[1:], said[-1]], strict=True):
            model.lm_head.weight[following, token] = 10.0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


for row in json.load(sys.stdin):
    write(*row)

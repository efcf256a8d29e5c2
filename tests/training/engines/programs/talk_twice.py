"""Run by TRL's interpreter: MODEL. A conversation of two turns, in a step and in an evaluation.

Prints for each, as JSON: the prompt of the second turn, what the model's own chat template renders
for it, the variant of it that a training uses, and whether it begins with the tokens of the first.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from ask_policy import ask
from prime_trl.generation import Generating
from prime_trl.policy import Policy
from prime_trl.tools import template_of
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
ends = [model.config.eos_token_id]
policy = Policy(tokenizer, seed=0, most=64, ends=ends, kind=model.config.model_type)
for phase in ("step", "evaluation"):
    policy.begin(phase, as_served=phase == "evaluation")
    messages, found = [{"role": "user", "content": "one"}], []
    for question in ("two", "three"):
        body = {"messages": messages, "user": "1.0", "return_token_ids": True}
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ask, policy, body)
            policy.pump(Generating(lambda: model, tokenizer, ends), waiting.done)
        found.append(json.loads(waiting.result()))
        said = found[-1]["choices"][0]["message"]
        messages = [*messages, said, {"role": "user", "content": question}]
    first, second = found
    options = {"tokenize": False, "add_generation_prompt": True}
    rendered = [
        tokenizer.apply_chat_template(messages[:3], chat_template=template, **options)
        for template in (None, template_of(tokenizer))
    ]
    before = first["prompt_token_ids"] + first["choices"][0]["token_ids"]
    after = second["prompt_token_ids"]
    continues = after[: len(before)] == before
    print(json.dumps([phase, tokenizer.decode(after), *rendered, continues]))

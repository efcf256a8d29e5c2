"""Run by TRL's interpreter: FOLDER TEMPLATE. A tiny model serves its policy under one of TRL's chat
templates and prints its address and key; then it reads the rollouts that were played, and prints
what it makes of them itself, as JSON: the ids and spans by the template, log-probabilities by a
forward pass, and the gradient of a step by the formula of its loss.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import trl
from byte_tokenizer import tokenizer_of
from datasets import Dataset
from formula import Keeping, log_probabilities, loss_of
from prime_trl.config import Config
from prime_trl.generation import Generating
from prime_trl.policy import Policy
from prime_trl.rows import columns_of, rows_of
from prime_trl.run import load_trainer
from prime_trl.tiny import write_tiny_model
from transformers import AutoModelForCausalLM, PrinterCallback

FOLDER, NAME = Path(sys.argv[1]), sys.argv[2]
GROUP, MOST, KIND = 4, 150, "dapo"
SAYS = "zyx"
write_tiny_model(FOLDER, 0)
template = (Path(trl.__file__).parent / "chat_templates" / f"{NAME}.jinja").read_text("utf-8")
tokenizer = tokenizer_of(template)
tokenizer.save_pretrained(FOLDER)
model = AutoModelForCausalLM.from_pretrained(FOLDER)
model.resize_token_embeddings(len(tokenizer))
model.save_pretrained(FOLDER)


def render(messages: list[dict[str, str]], *, ask: bool = True) -> str:
    return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=ask))


def encode(text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def after_an_answer(messages: list[dict[str, str]], asked: str) -> str:
    """What the template writes between an answer to `messages` and the next one."""
    said = [*messages, {"role": "assistant", "content": SAYS}]
    text = render([*said, {"role": "user", "content": asked}])
    return text[text.index(SAYS) + len(SAYS) :]


def find_end() -> int:
    """The token that the template ends an answer with."""
    first = encode(after_an_answer([{"role": "user", "content": "begin"}], "go on 1"))[0]
    assert first in tokenizer.all_special_ids
    return first


def expect(questions: list[str], answers: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """The ids of a whole conversation with these answers, and where they are."""
    ids: list[int] = []
    spans = []
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        messages = [{"role": "user", "content": question}]
        if number == 0:
            ids += encode(render(messages))
        else:
            new = encode(after_an_answer([{"role": "user", "content": "begin"}], question))
            ids += new[1:] if ids[-1] == END else new
        spans.append([len(ids), len(ids) + len(answer)])
        ids += answer
    return ids, spans


END = find_end()
policy = Policy(tokenizer, seed=0, most=MOST, ends=[END])
print(policy.url, policy.key, flush=True)
asked: list[str] = []
threading.Thread(target=lambda: asked.append(sys.stdin.readline()), daemon=True).start()
policy.pump(Generating(lambda: model, tokenizer, [END]), lambda: bool(asked))
questions, rollouts = json.loads(asked[0])
largest, expected = 0.0, []
for rollout in rollouts:
    (segment,) = rollout["segments"]
    answers = [segment["ids"][start:end] for start, end, *_ in segment["spans"]]
    expected.append(expect(questions, answers))
    chances = log_probabilities(model, segment["ids"], 1.0)
    for start, end, *_ in segment["spans"]:
        for place in range(start, end):
            own = float(chances[place - 1, segment["ids"][place]])
            largest = max(largest, abs(own - segment["logprobs"][place]))


def play(prompts: list[str], trainer: Any) -> Any:
    rows = [rows_of(each, tokenizer.eos_token_id) for each in rollouts]
    return columns_of(rollouts, rows, tokenizer.eos_token_id, sum(map(len, rows)))


kept = Keeping()
config = Config(
    model=str(FOLDER),
    steps=1,
    group=GROUP,
    batch=1,
    lr=1e-3,
    max_tokens=MOST,
    temperature=1.0,
    seed=0,
    save_every=9,
    options={"loss_type": KIND, "max_grad_norm": 0.0},
)
trainer = load_trainer(
    config,
    FOLDER,
    train_dataset=Dataset.from_list([{"prompt": "0"}]),
    processing_class=tokenizer,
    rollout_func=play,
    callbacks=[kept],
)
trainer.remove_callback(PrinterCallback)  # which writes to stdout
loss_of(trainer.model, rollouts, KIND, GROUP, 1.0)[0].backward()
wanted = [each.grad.clone() for each in trainer.model.parameters()]
trainer.model.zero_grad()
trainer.train()
off, size = kept.distance(wanted)
print(
    json.dumps(
        {
            "end": END,
            "expected": expected,
            "nats_off": largest,
            "gradient_off": off,
            "gradient_size": size,
        }
    ),
    flush=True,
)

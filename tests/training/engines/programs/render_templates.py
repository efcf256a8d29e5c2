"""Run by TRL's interpreter: three turns through the policy under each of its chat templates.

What is sampled is what the template itself writes, or random letters. Prints a line of JSON for
each template and kind of conversation.
"""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from urllib.request import Request, urlopen

import trl
from byte_tokenizer import tokenizer_of
from jinja2 import TemplateError
from prime_trl.answers import Answers
from prime_trl.policy import Policy
from prime_trl.sampling import STOP, Answer
from prime_trl.tools import require_tools, template_of, with_objects

TOOL = {
    "name": "add",
    "description": "Add.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer", "description": "A number."}},
        "required": ["a"],
    },
}
TOOLS = [{"type": "function", "function": TOOL}]


class Scripted:
    """A sampler that says what it is told."""

    synced = 0.0

    def __init__(self):
        self.answer, self.waiting = None, []

    def awake(self):
        return nullcontext()

    def take(self, number, wanted):
        self.waiting.append(number)

    def work(self):
        taken, self.waiting = self.waiting, []
        return [(number, self.answer) for number in taken]

    def drop(self, numbers):
        pass


class Conversation:
    """The policy under one template, and what it was asked."""

    def __init__(self, tokenizer, tools, ends=None):
        self.tokenizer, self.tools = tokenizer, tools
        self.template = template_of(tokenizer)
        self.policy = Policy(tokenizer, seed=0, most=400, ends=ends)
        self.policy.begin("test")
        self.sampler = Scripted()

    def render(self, messages, ask=True):
        return self.tokenizer.apply_chat_template(
            with_objects(messages),
            tools=self.tools,
            tokenize=False,
            add_generation_prompt=ask,
            chat_template=self.template,
        )

    def ask(self, messages, answer):
        ids = self.tokenizer.encode(answer, add_special_tokens=False)
        self.sampler.answer = Answer(ids, [0.0] * len(ids), STOP)
        body = {"messages": messages, "tools": self.tools, "user": "1.0", "return_token_ids": True}
        request = Request(
            self.policy.url + "/chat/completions",
            json.dumps(body).encode(),
            {"content-type": "application/json", "authorization": "Bearer " + self.policy.key},
        )
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(lambda: json.load(urlopen(request)))
            self.policy.pump(self.sampler, waiting.done)
        return waiting.result()


def end_of(conversation, messages):
    """The mark that the template writes after an answer; empty where it writes none."""
    text = conversation.render([*messages, {"role": "assistant", "content": "zyx"}], ask=False)
    rest = text[text.rfind("zyx") + 3 :]
    marks = conversation.tokenizer.all_special_tokens
    return next((m for m in sorted(marks, key=len, reverse=True) if rest.startswith(m)), "")


def turn_of(conversation, messages, n, end, dice, kind):
    """What is sampled in turn `n`."""
    if kind == "tools" and n == 0:
        call = {
            "type": "function",
            "id": "c1",
            "function": {"name": "add", "arguments": '{"a": 3}'},
        }
        said = {"role": "assistant", "content": "", "tool_calls": [call]}
        text, asked = (
            conversation.render([*messages, said], ask=False),
            conversation.render(messages),
        )
        if not text.startswith(asked):
            return "letters" + end
        text = text[len(asked) :]
        return text[: text.rfind(end) + len(end)] if end and end in text else text
    said = "".join(dice.choices("abcdefgh  ", k=12))
    return said if kind == "cut" else said + end


def walk(template, kind):
    tokenizer = tokenizer_of(template)
    tools = TOOLS if kind == "tools" else None
    if tools:
        require_tools(tokenizer, Answers(tokenizer))
    first = [{"role": "user", "content": "question-0"}]
    end = end_of(Conversation(tokenizer, tools), first)
    talk = Conversation(tokenizer, tools, tokenizer.encode(end, add_special_tokens=False))
    messages = first
    if "question-0" not in talk.render(messages):
        raise ValueError("renders no text")
    dice, before, turns, asked = random.Random(kind), None, [], None
    for n in range(3):
        whole = talk.render(messages)
        sampled = turn_of(talk, messages, n, end, dice, kind)
        answer = talk.ask(messages, sampled)
        (choice,) = answer["choices"]
        ids, own = answer["prompt_token_ids"], choice["token_ids"]
        text, turn = tokenizer.decode(ids), {}
        continues = before is not None and ids[: len(before)] == before
        rest = tokenizer.decode(ids[len(before or []) :])
        turn["exact"] = text == whole
        turn["continues"] = continues
        # Of a prompt that goes on, all but the earlier answer is what the template renders.
        turn["right"] = (
            whole.startswith(asked)
            and whole.endswith(rest)
            and len(asked) + len(rest) <= len(whole)
            if continues
            else text == whole
        )
        questions = [m["content"] for m in messages if m["role"] == "user"]
        turn["once"] = all(text.count(question) == 1 for question in questions)
        turn["rewritten"] = before is not None and not whole.startswith(asked)
        turn["other_end"] = asked is not None and bool(end) and end not in whole[len(asked or "") :]
        turn["called"] = "tool_calls" in choice["message"]
        turns.append(turn)
        before, asked = ids + own, whole
        messages = [*messages, choice["message"]]
        if turn["called"]:
            called = choice["message"]["tool_calls"][0]["id"]
            messages.append({"role": "tool", "tool_call_id": called, "name": "add", "content": "7"})
        else:
            messages.append({"role": "user", "content": f"question-{n + 1}"})
    return {"end": end, "turns": turns, "restarts": talk.policy.conversations.restarts}


folder = Path(trl.__file__).parent / "chat_templates"
for path in sorted(folder.glob("*.jinja")):
    for kind in ("ended", "cut", "tools"):
        try:
            found = walk(path.read_text(encoding="utf-8"), kind)
        except (ValueError, TemplateError) as error:
            found = {"refused": f"{error}"[:120]}
        print(json.dumps({"template": path.stem, "kind": kind, **found}), flush=True)

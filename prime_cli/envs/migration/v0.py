"""What verifiers before 0.4 gave to reward functions: rows, messages and parsers."""

import inspect
import json
import os
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

Environment = Info = Message = ChatMessage = Messages = Rubric = State = Any

OPENAI_URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
"""Where a client of OpenAI asks that is given no address."""
JUDGE_PROMPT = """Given a ground truth answer \
and a response, determine if the response is correct.

Question:
```
{question}
```

Ground truth answer:
```
{answer}
```

Response:
```
{response}
```

Respond either "yes" or "no" only."""


def fields_of(row: Any, system_prompt: str | None) -> dict[str, Any]:
    """A row as the fields of a task's data."""
    prompt = row["prompt"] if "prompt" in row else row["question"]
    if not isinstance(prompt, str):
        prompt = [{"role": each["role"], "content": each["content"]} for each in prompt]
        if prompt[0]["role"] == "system":
            system_prompt = prompt.pop(0)["content"]
    info, task = row.get("info"), row.get("task", "default")
    info = json.loads(info) if isinstance(info, str) else info or {}
    shared = {"answer": row.get("answer", ""), "info": info, "task": task}
    return {"system_prompt": system_prompt, "prompt": prompt, **shared}


def said(trace: Any) -> list[dict[str, Any]]:
    """What followed the prompt, as messages."""
    nodes = trace.branches[-1].nodes if trace.branches else []
    first = next((at for at, node in enumerate(nodes) if node.sampled), len(nodes))
    return [_message(node.message) for node in nodes[first:]]


def asked(data: Any) -> list[dict[str, Any]]:
    """The prompt, as messages."""
    system = [{"role": "system", "content": data.system_prompt}] if data.system_prompt else []
    if isinstance(data.prompt, str):
        return [*system, {"role": "user", "content": data.prompt}]
    return system + [_message(message) for message in data.prompt or []]


def state_of(data: Any, trace: Any) -> dict[str, Any]:
    """What of a rollout's state is the same in v1."""
    fields = {"answer": data.answer, "info": data.info, "task": data.task}
    return {"prompt": asked(data), "completion": said(trace), **fields}


def judge_of(
    config: Any,
    trace: Any,
    parser: "Parser",
    template: str = JUDGE_PROMPT,
    *,
    question: bool = True,
) -> Callable[..., Any]:
    """What v0 gave to rewards as `judge`: asks another model, whose calls are in the trace.

    Without `question` the judge is not told what was asked.
    """
    import verifiers.v1 as vf

    async def judge(prompt: Any, completion: Any, answer: Any, _state: Any = None) -> str:
        last = prompt if isinstance(prompt, str) else prompt[-1]["content"]
        response = parser.parse_answer(completion)
        text = template.format(question=last * question, answer=answer, response=response)
        return str((await vf.Judge(config).complete(text, trace=trace)).text)

    return judge


def oracle_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """An oracle that `-m builtin/oracle` asks, whose `info` is the whole example."""

    def oracle(messages: Any, *, answer: Any, info: Any, tools: Any) -> Any:
        given = {"answer": answer, "info": info["info"], "tools": tools}
        taken = given.keys() & inspect.signature(function).parameters
        return function(messages, **{name: given[name] for name in taken})

    return oracle


def _message(message: Any) -> dict[str, Any]:
    return {"role": message.role, "content": message.content or ""}


class Parser:
    """Takes the last reply as it is, or what `extract_fn` finds in it."""

    def __init__(self, extract_fn: Callable[[str], Any] = str) -> None:
        self.extract_fn = extract_fn

    def parse(self, text: str) -> Any:
        return self.extract_fn(text)

    def get_assistant_messages(self, completion: Any) -> list[Any]:
        return [message for message in completion if message["role"] == "assistant"]

    def parse_answer(self, completion: Any) -> Any:
        if isinstance(completion, str):
            return self.parse(completion)
        replies = self.get_assistant_messages(completion)
        return self.parse(replies[-1]["content"]) if replies else None

    def rate(self, text: str) -> float:
        """How well a reply keeps to the format, which is always here."""
        return 1.0 if text is not None else 0.0

    def get_format_reward_func(self) -> Callable[..., float]:
        def format_reward_func(completion: Any) -> float:
            rated = [self.rate(each["content"]) for each in self.get_assistant_messages(completion)]
            return sum(rated) / len(rated) if rated else 0.0

        return format_reward_func


class ThinkParser(Parser):
    """Takes what follows `</think>`, and nothing of a reply without it."""

    def parse(self, text: str) -> Any:
        _, mark, after = text.rpartition("</think>")
        return self.extract_fn(after.strip() if mark else "")

    def rate(self, text: str) -> float:
        once = text.count("<think>") == text.count("</think>") == 1
        return float(once and text.strip().startswith("<think>") and text[-8:] != "</think>")


class MaybeThinkParser(Parser):
    """Takes what follows `</think>`, or all of a reply without it."""

    def parse(self, text: str) -> Any:
        return self.extract_fn(text.rsplit("</think>", maxsplit=1)[-1].strip())


class XMLParser(Parser):
    """Reads the tags `fields`, each a name or several that are allowed."""

    def __init__(self, fields: Any, answer_field: str = "answer", extract_fn: Any = str) -> None:
        super().__init__(extract_fn)
        self.answer_field = answer_field
        self._fields = [(each,) if isinstance(each, str) else tuple(each) for each in fields]

    def parse(self, text: str, strip: bool = True, last: bool = False) -> Any:
        found = {}
        for name in (name for names in self._fields for name in names):
            matches = re.findall(rf"<{name}>\s*(.*?)\s*</{name}>", text, re.DOTALL)
            match = matches[-1 if last else 0] if matches else None
            found[name] = match.strip() if match and strip else match
        return SimpleNamespace(**found)

    def parse_answer(self, completion: Any) -> Any:
        if isinstance(completion, str):
            return getattr(self.parse(completion, last=True), self.answer_field, None)
        replies = reversed(self.get_assistant_messages(completion))
        found = (getattr(self.parse(each["content"]), self.answer_field, None) for each in replies)
        return next((answer for answer in found if answer is not None), None)

    def rate(self, text: str) -> float:
        parsed, text = vars(self.parse(text)), text.strip()
        found = {name for name in parsed if f"<{name}>" in text or f"</{name}>" in text}
        present = sum(not found.isdisjoint(names) for names in self._fields) / len(self._fields)
        has_any = any(value is not None for value in parsed.values())
        begins = text.startswith(tuple(f"<{name}>" for name in self._fields[0]))
        ends = text.endswith(tuple(f"</{name}>" for name in self._fields[-1]))
        return 0.4 * present * has_any + 0.2 + 0.2 * begins + 0.2 * ends


def extract_boxed_answer(text: str, strict: bool = False) -> str:
    """What is in the last `\\boxed{}`; without one, the text, or nothing if `strict`."""
    start, depth = text.rfind("\\boxed{"), 1
    for at in range(start + 7, len(text) if start >= 0 else 0):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[start + 7 : at]
    return "" if strict else text


def extract_hash_answer(text: str) -> str:
    """What follows `####`, if that is there."""
    return text.split("####")[1].strip() if "####" in text else text

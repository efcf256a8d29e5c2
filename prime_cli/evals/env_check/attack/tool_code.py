"""Code for a model's tool that looks for answers: in the files around it and in its process."""

from collections.abc import Callable, Mapping
from typing import Any

from prime_cli.models.gateway.builtin import content_text
from prime_cli.models.gateway.oracle import Message, OracleQuestion

_MARK = "leak>"
_PYTHON = ("code", "python", "source", "script", "program")
_SHELL = ("command", "cmd", "bash", "shell", "commands")

_PROGRAM = f"""
import gc, json, os, pathlib
def show(value, depth=0):
    if isinstance(value, (str, int, float)):
        print("{_MARK}", " ".join(str(value).split())[:400])
    elif depth < 6 and isinstance(value, (dict, list, tuple)):
        for each in list(value.values() if isinstance(value, dict) else value)[:200]:
            show(each, depth + 1)
for each in gc.get_objects():
    if type(each) is dict and "answer" in each:
        show(each["answer"])
for name, value in os.environ.items():
    if "ANSWER" in name or "GOLD" in name:
        show(value)
for path in sorted(pathlib.Path(".").rglob("*"))[:500]:
    if path.is_file() and path.stat().st_size < 100_000:
        text = path.read_text(errors="replace")
        for line in text.splitlines()[:500]:
            try:
                show(json.loads(line))
            except ValueError:
                show(line)
"""
_LINE = f"python3 - <<'END' || grep -rhs '' . | sed 's/^/{_MARK} /' | head -2000\n{_PROGRAM}\nEND"


def code_parameter(tool: Mapping[str, Any]) -> tuple[str, str] | None:
    """The parameter of a tool that takes code, and what looks for answers there; None without."""
    properties = (tool.get("function", tool).get("parameters") or {}).get("properties") or {}
    for names, code in ((_PYTHON, _PROGRAM), (_SHELL, _LINE)):
        found = next((name for name in properties if name.lower() in names), None)
        if found is not None:
            return found, code
    return None


def snoop(
    question: OracleQuestion, gold: str, form: Callable[[str], str]
) -> Callable[[int, OracleQuestion], Message] | None:
    """Calls a tool with such code, and gives the gold answer if that printed it; None without one.

    What it prints must be the answer as a value or a line of its own, not merely contain it.
    """
    taking = [(tool, found) for tool in question.tools if (found := code_parameter(tool))]
    if not taking:
        return None
    tool, (parameter, code) = taking[0]
    name = tool.get("function", tool).get("name", "")

    def line(turn: int, asked: OracleQuestion) -> Message:
        if turn == 1:
            return {"tool_calls": [{"name": name, "arguments": {parameter: code}}]}
        heard = content_text(asked.messages[-1].get("content")) if asked.messages else ""
        seen = {each.partition(_MARK)[2].strip() for each in heard.splitlines() if _MARK in each}
        return form(gold) if " ".join(gold.split()) in seen else "I found nothing."

    return line

"""Every question and every bar in the code, found by reading it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import prime_cli

_PACKAGE = Path(prime_cli.__file__).parent
_VERBS = ("ask", "choose", "confirm", "enter", "read_secret")
_ASKING = ("ask_choice", "ask_text", "ask_yes_no", "getpass", "input", "read_secret")
"""What only `prime_cli.terminal` may call: everybody else asks through Output."""

Found = set[tuple[str, str]]
"""The module's path below prime_cli, and how the words begin."""


def questions() -> Found:
    """What commands, the session that they share and the policy of runs ask through Output."""
    return {
        (path, _beginning(call))
        for path, call in _calls(*_VERBS)
        if path.startswith(("commands/", "session.py", "evals/resume/policy.py"))
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in _VERBS
    }


def bars() -> Found:
    """What is said to be under way."""
    return {
        (path, _beginning(call))
        for path, call in _calls("task")
        if isinstance(call.func, ast.Attribute) and call.func.attr == "task"
    }


def askers_outside_the_terminal() -> list[str]:
    """Modules that ask in a way of their own."""
    return [
        path
        for path, call in _calls(*_ASKING)
        if not path.startswith(("terminal/", "runtime/worker/"))
        and (
            (isinstance(call.func, ast.Name) and call.func.id in _ASKING)
            or (isinstance(call.func, ast.Attribute) and call.func.attr == "getpass")
        )
    ]


def _calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call in the modules where one of `names` is called."""
    for path in sorted(_PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f"{name}(" in text for name in names):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                yield path.relative_to(_PACKAGE).as_posix(), node


def _beginning(call: ast.Call) -> str:
    """The literal words that its first argument begins with, else the expression itself."""
    first = call.args[0] if call.args else None
    match first:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text
        case None:
            return ""
    return ast.unparse(first)

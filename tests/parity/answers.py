"""What the scripted model says to the environments of this folder: right, wrong, and by tools."""

import re

from tests.helpers.scripted_model import PerConversation, Received, Reply, status, tool_call

_ASKED = re.compile(r"(say|add|print) (?:word)?(\d+)")


def script() -> PerConversation:
    """A model for one run: every third answer is wrong, by example and rollout."""
    return PerConversation(_answer)


def refusing_script() -> PerConversation:
    """The same, but the second example is refused for what it holds."""

    def answer(request: Received, count: int) -> Reply | str:
        refused = "word1" in request.last_user
        return status(400, message="not allowed") if refused else _answer(request, count)

    return PerConversation(answer)


def _answer(request: Received, count: int) -> Reply | str:
    if request.body.get("model") == "judge":
        return str(int("word" in request.last_user))
    last = request.messages[-1]
    if last.get("role") == "tool":
        return f"it is {_text(last.get('content'))}"
    asked = _ASKED.search(request.last_user)
    if asked is None:
        return request.last_user
    number = int(asked[2])
    match asked[1]:
        case "add":
            return _by_tool(request, "add", {"a": number + count % 2, "b": 3})
        case "print":
            return _by_tool(request, "bash", {"command": f"echo word{number}"})
        case _:
            return "no idea at all" if (number + count) % 3 == 2 else f"word{number}"


def _by_tool(request: Received, name: str, arguments: dict[str, object]) -> Reply | str:
    """A call of the tool whose name ends with `name`, if it is offered."""
    offered = [tool["function"]["name"] for tool in request.body.get("tools") or []]
    found = next((each for each in offered if each.endswith(name)), None)
    if found is None:
        return "there is no such tool"
    return Reply(content=None, tool_calls=(tool_call(found, arguments),))


def _text(content: object) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content)
    return str(content)

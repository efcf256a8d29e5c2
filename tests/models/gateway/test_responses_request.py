from typing import Any

import pytest

from prime_cli.models.gateway.calls import CallFailed
from prime_cli.models.gateway.responses_request import read_json, to_chat

CALL = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'}
TOOL = {"type": "function", "name": "add", "parameters": {"type": "object"}, "strict": None}


def chat(**asked: Any) -> dict[str, Any]:
    return to_chat({"model": "m", "input": "x", **asked}, "here")


def test_items_are_messages_and_calls_belong_to_the_answer_before_them() -> None:
    items = [
        {"role": "developer", "content": "short"},
        {"role": "user", "content": [{"type": "input_text", "text": "add"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "…"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "ok"}],
        },
        CALL,
        {**CALL, "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": "2"},
        {
            "type": "function_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "3"}],
        },
        CALL,
    ]
    messages = chat(input=items)["messages"]
    function = {"name": "add", "arguments": '{"a": 1}'}
    calls = [{"id": name, "type": "function", "function": function} for name in ("c1", "c2")]
    assert messages == [
        {"role": "system", "content": "short"},
        {"role": "user", "content": "add"},
        {"role": "assistant", "content": "ok", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
        {"role": "tool", "tool_call_id": "c2", "content": "3"},
        {"role": "assistant", "content": None, "tool_calls": calls[:1]},
    ]


def test_images_stay_parts() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA"}
    parts = [{"type": "input_text", "text": "what?"}, image]
    content = chat(input=[{"role": "user", "content": parts}])["messages"][0]["content"]
    assert content[0] == {"type": "text", "text": "what?"}
    assert content[1]["image_url"] == {"url": image["image_url"], "detail": "auto"}


def test_tools_formats_and_sampling_have_other_names_there() -> None:
    schema = {"type": "json_schema", "name": "A", "schema": {"type": "object"}, "strict": True}
    found = chat(
        tools=[TOOL],
        tool_choice={"type": "function", "name": "add"},
        parallel_tool_calls=False,
        reasoning={"effort": "low", "summary": "auto"},
        text={"format": schema, "verbosity": "low"},
        temperature=0.5,
        top_k=20,
        store=False,
        include=["reasoning.encrypted_content"],
    )
    del found["messages"]
    function = {"name": "add", "parameters": {"type": "object"}}
    assert found == {
        "model": "m",
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "add"}},
        "parallel_tool_calls": False,
        "reasoning_effort": "low",
        "verbosity": "low",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "A", "schema": {"type": "object"}, "strict": True},
        },
        "temperature": 0.5,
        "top_k": 20,
    }


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"background": True}, "`background`"),
        (
            {"input": [{"type": "item_reference", "id": "x"}]},
            "an item of the type `item_reference`",
        ),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]},
            "content of the type `input_file`",
        ),
        ({"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}}, "the tool choice"),
        ({"text": {"format": {"type": "grammar"}}}, "the format `grammar`"),
    ],
)
def test_what_has_no_equal_is_refused_by_name(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(CallFailed, match=f"here has no Responses API, and {told}"):
        chat(**asked)


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(CallFailed, match="is not one of the Responses API"):
        read_json(b"[]")

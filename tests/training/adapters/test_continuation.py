from typing import Any

from prime_cli.training.adapters.continuation import Conversations

END = "|"


class Characters:
    """A tokenizer with a token for each character, which takes `ab` together in plain text."""

    eos_token = END
    eos_token_id = ord(END)

    def apply_chat_template(
        self, messages: list[dict[str, Any]], *, add_generation_prompt: bool, **_: Any
    ) -> str:
        told = "".join(f"{each['role'][0]}:{each['content']}{END}" for each in messages)
        return told + ("a:" if add_generation_prompt else "")

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        assert not add_special_tokens
        merged = text.replace("ab", "\x01")
        return [ord(each) for each in merged]


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_a_later_prompt_begins_with_what_was_sampled() -> None:
    conversations = Conversations(Characters())
    first = [_user("hi")]
    prompt = conversations.prompt(first, None, "0.0")
    sampled = [ord("a"), ord("b"), ord(END)]  # the text would be tokenized as one
    said = {"role": "assistant", "content": "ab"}
    conversations.remember(first, said, "0.0", prompt + sampled)
    later = [*first, said, _user("more")]
    assert conversations.prompt(later, None, "0.0") == [
        *prompt,
        *sampled,
        *map(ord, f"u:more{END}a:"),
    ]
    assert conversations.prompt(later, None, "0.1")[: len(prompt) + 3] != prompt + sampled
    conversations.forget("0.0")
    assert conversations.prompt(later, None, "0.0") == conversations.prompt(later, None, "0.1")


def test_an_answer_that_was_cut_off_is_continued_without_its_end() -> None:
    conversations = Conversations(Characters())
    first = [_user("hi")]
    prompt = conversations.prompt(first, None, "")
    said = {"role": "assistant", "content": "ab"}
    conversations.remember(first, said, "", [*prompt, ord("a"), ord("b")])
    found = conversations.prompt([*first, said, _user("x")], None, "")
    assert found == [*prompt, ord("a"), ord("b"), *map(ord, f"{END}u:x{END}a:")]

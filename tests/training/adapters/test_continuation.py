"""Prompts of later turns, with a tokenizer whose tokens are characters."""

from typing import Any, ClassVar

from prime_cli.training.adapters.continuation import Conversations

END, OTHER = "|", "~"


class Characters:
    """A tokenizer with a token for each character, which takes `ab` together in plain text."""

    eos_token_id = ord("|")
    all_special_tokens: ClassVar = [END, OTHER]
    all_special_ids: ClassVar = [ord(END), ord(OTHER)]

    def __init__(self, trims: bool = False) -> None:
        self.trims = trims

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str:
        assert not skip_special_tokens
        return "".join(map(chr, ids)).replace("\x01", "ab")

    def apply_chat_template(
        self, messages: list[dict[str, Any]], *, add_generation_prompt: bool, **_: Any
    ) -> str:
        texts = [each["content"].strip() if self.trims else each["content"] for each in messages]
        told = "".join(
            f"{each['role'][0]}:{text}{END}" for each, text in zip(messages, texts, strict=True)
        )
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
    conversations.remember(first, said, "0.0", (prompt, sampled))
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
    conversations.remember(first, said, "", (prompt, [ord("a"), ord("b")]))
    found = conversations.prompt([*first, said, _user("x")], None, "")
    assert found == [*prompt, ord("a"), ord("b"), *map(ord, f"{END}u:x{END}a:")]


def _after(sampled: str, content: str, *, trims: bool = False) -> tuple[str, int]:
    """The prompt after one sampled answer, and how many could not continue it."""
    conversations = Conversations(Characters(trims), map(ord, (END, OTHER)))
    first = [_user("hi")]
    prompt = conversations.prompt(first, None, "")
    said = {"role": "assistant", "content": content}
    conversations.remember(first, said, "", (prompt, [ord(each) for each in sampled]))
    found = conversations.prompt([*first, said, _user("x")], None, "")
    return "".join(map(chr, found)), conversations.restarts


def test_what_the_template_trims_stays_as_it_was_sampled() -> None:
    assert _after("yes  |", "yes  ", trims=True) == ("u:hi|a:yes  |u:x|a:", 0)
    assert _after("yes  ", "yes  ", trims=True) == ("u:hi|a:yes  |u:x|a:", 0)


def test_an_answer_that_ended_with_another_token_than_the_templates_begins_anew() -> None:
    # Both ends in a row are in no prompt that the template makes.
    assert _after("yes~", "yes") == ("u:hi|a:yes|u:x|a:", 1)


def test_a_special_token_that_ends_nothing_is_sampled_like_any_other() -> None:
    ends = [ord(END)]
    conversations = Conversations(Characters(), ends)
    first = [_user("hi")]
    prompt = conversations.prompt(first, None, "")
    said = {"role": "assistant", "content": "yes"}
    conversations.remember(first, said, "", (prompt, [ord(each) for each in "yes~"]))
    found = conversations.prompt([*first, said, _user("x")], None, "")
    assert ("".join(map(chr, found)), conversations.restarts) == ("u:hi|a:yes~|u:x|a:", 0)


def test_text_of_the_end_within_a_conversation_is_not_taken_for_the_end() -> None:
    assert _after("yes|", "yes") == ("u:hi|a:yes|u:x|a:", 0)
    conversations = Conversations(Characters())
    first = [_user("a|b")]
    prompt = conversations.prompt(first, None, "")
    said = {"role": "assistant", "content": "no"}
    conversations.remember(first, said, "", (prompt, [ord("n"), ord("o")]))
    found = conversations.prompt([*first, said, _user("x")], None, "")
    assert "".join(map(chr, found)) == "u:a|b|a:no|u:x|a:"


def test_a_message_that_leaves_out_what_was_sampled_begins_anew() -> None:
    conversations = Conversations(Characters())
    first = [_user("hi")]
    prompt = conversations.prompt(first, None, "")
    said = {"role": "assistant", "content": "yes"}
    sampled = [ord(each) for each in "yes;"]
    conversations.remember(first, said, "", (prompt, sampled), is_whole=False)
    found = conversations.prompt([*first, said, _user("x")], None, "")
    assert ("".join(map(chr, found)), conversations.restarts) == ("u:hi|a:yes|u:x|a:", 1)

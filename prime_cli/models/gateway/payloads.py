"""The parts of OpenAI's wire format that the gateway reads; everything else passes unread."""

from typing import Any

import msgspec

from prime_cli.models.prices import Usage


class StreamOptions(msgspec.Struct):
    """Options of a streamed request."""

    include_usage: bool = False


class RequestHead(msgspec.Struct):
    """What decides the way of a request."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None


class CachedTokens(msgspec.Struct):
    """Input tokens served from the endpoint's cache."""

    cached_tokens: int | None = None


class ReasoningTokens(msgspec.Struct):
    """Output tokens that are not shown."""

    reasoning_tokens: int | None = None


class UsageObject(msgspec.Struct):
    """The usage of chat completions and completions (prompt, completion) or Responses."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: CachedTokens | None = None
    completion_tokens_details: ReasoningTokens | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: CachedTokens | None = None
    output_tokens_details: ReasoningTokens | None = None
    total_tokens: int | None = None

    @property
    def counts(self) -> bool:
        """Whether it holds any count; some servers send an empty object."""
        sides = (self.prompt_tokens, self.completion_tokens, self.input_tokens, self.output_tokens)
        return any(tokens is not None for tokens in sides)

    def to_usage(self, *, estimated: bool = False) -> Usage:
        """One call's Usage."""
        cached = self.prompt_tokens_details or self.input_tokens_details
        details = self.completion_tokens_details or self.output_tokens_details
        reasoning = (details and details.reasoning_tokens) or 0
        asked = self.prompt_tokens or self.input_tokens or 0
        said = self.completion_tokens or self.output_tokens or 0
        # Some services (xAI, for one) do not count reasoning among the output; the total tells.
        if reasoning and self.total_tokens == asked + said + reasoning:
            said += reasoning
        return Usage(
            calls=1,
            input=asked,
            cached=(cached and cached.cached_tokens) or 0,
            output=said,
            reasoning=reasoning,
            estimated=int(estimated),
        )


class CompletedResponse(msgspec.Struct):
    """The object inside the last event of a Responses stream."""

    usage: UsageObject | None = None
    model: Any = None


class Answer(msgspec.Struct):
    """An answer, or one event of a streamed one."""

    usage: UsageObject | None = None
    choices: list[msgspec.Raw] | None = None
    response: CompletedResponse | None = None
    model: Any = None
    system_fingerprint: Any = None

    @property
    def any_model(self) -> str | None:
        """The model that says it answered; None where none is named."""
        found = self.model or (self.response and self.response.model)
        return found if isinstance(found, str) and found else None

    @property
    def fingerprint(self) -> str | None:
        """What the endpoint says of the system that the model ran on."""
        found = self.system_fingerprint
        return found if isinstance(found, str) and found else None

    @property
    def any_usage(self) -> UsageObject | None:
        """Usage, where this kind of answer keeps it; None where nothing is counted."""
        found = self.usage
        if found is None and self.response is not None:
            found = self.response.usage
        return found if found is not None and found.counts else None


class ErrorDetail(msgspec.Struct):
    """The part of an error body that retries look at."""

    code: str | int | None = None
    type: str | None = None


class ErrorAnswer(msgspec.Struct):
    """An error in OpenAI's shape."""

    error: ErrorDetail | None = None


_head_decoder = msgspec.json.Decoder(RequestHead)
_answer_decoder = msgspec.json.Decoder(Answer)
_error_decoder = msgspec.json.Decoder(ErrorAnswer)


def read_head(body: bytes) -> RequestHead:
    """The head of a JSON request; empty for any other body."""
    if not body[:64].lstrip().startswith(b"{"):
        return RequestHead()
    try:
        return _head_decoder.decode(body)
    except msgspec.MsgspecError:
        return RequestHead()


def read_answer(body: bytes) -> Answer | None:
    """An answer's usage and choices; None when it is not such an object."""
    try:
        return _answer_decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def read_error_code(body: bytes) -> str | None:
    """The `code` or `type` of an error body."""
    try:
        detail = _error_decoder.decode(body).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return str(detail.code or detail.type) if detail else None


def error_body(message: str, *, code: str, blame: str) -> bytes:
    """An error in OpenAI's shape; `class` tells the worker whom to blame."""
    error = {
        "message": message,
        "type": f"{blame}_error",
        "param": None,
        "code": code,
        "class": blame,
    }
    return msgspec.json.encode({"error": error})


def with_fields(body: bytes, **fields: object) -> bytes:
    """A JSON object's bytes with some members replaced; the others keep their bytes."""
    members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({**members, **fields})

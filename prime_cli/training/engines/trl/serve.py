"""transformers' server, whose answers are read as in a training: `PYTHON serve.py PROGRAM …`.

`PROGRAM` is the `transformers` of that interpreter; what follows are its words.
"""

import json
import runpy
import sys
from collections.abc import AsyncIterator
from functools import cache
from typing import Any


def _read_as_in_training() -> None:
    from prime_trl.answers import Answers, events_of  # type: ignore[import-not-found]
    from starlette.responses import StreamingResponse
    from transformers.cli.serving import chat_completion as chat
    from transformers.cli.serving.utils import ToolCall

    readers = cache(Answers)

    def read(
        processor: Any,
        model: Any,
        generated_ids: Any,
        *,
        input_ids: Any,
        tools: Any = None,
        **_: Any,
    ) -> tuple[str, str | None, list[Any] | None]:
        answers = readers(getattr(processor, "tokenizer", processor), model.config.model_type)
        said = answers.message(_one_row(input_ids), _one_row(generated_ids), tools)
        calls = [ToolCall(**each["function"]) for each in said.get("tool_calls", ())]
        return said["content"], said.get("reasoning_content"), calls or None

    def stream(handler: Any, *asked: Any, **options: Any) -> StreamingResponse:
        # A piece of an answer cannot be read as the whole is.
        async def events() -> AsyncIterator[str]:
            whole = await handler._non_streaming(*asked, **options)  # noqa: SLF001
            for event in events_of(json.loads(whole.body)):
                yield event

        return StreamingResponse(events(), media_type="text/event-stream")

    chat.parse_assistant_message = read
    chat.ChatCompletionHandler._streaming = stream  # noqa: SLF001


def _one_row(ids: Any) -> list[int]:
    row = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    return list(row[0]) if row and isinstance(row[0], list) else row


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    try:
        _read_as_in_training()
    except ImportError as error:  # a release without these names: its own reading is left
        sys.stderr.write(f"answers are read as transformers does: {error}\n")
    runpy.run_path(sys.argv[0], run_name="__main__")

"""What code that is not trusted may ask of the user's endpoints: answers of models alone."""

from prime_cli.models.gateway.calls import Call, CallFailed, Handler, Reply

_ANSWERING = frozenset(
    (
        "audio/speech audio/transcriptions chat/completions completions embeddings "
        "images/generations messages moderations rerank responses"
    ).split()
)


async def only_answers(call: Call, handler: Handler) -> Reply:
    """A step that lets calls of models through, and the list of them.

    With the user's key an endpoint would also hand out, and delete, what the account holds: files,
    stored answers, batches, fine-tuned models.
    """
    asks_a_model = call.method == "POST" and call.path in _ANSWERING
    if not asks_a_model and (call.method, call.path) != ("GET", "models"):
        raise CallFailed(
            f"{call.method} /v1/{call.path} asks no model for an answer, "
            "and a sandbox lets nothing else through",
            status=403,
            blame="environment",
            code="not_allowed_in_sandbox",
        )
    return await handler(call)

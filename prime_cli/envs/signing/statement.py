"""What is signed: one sentence about one wheel, the same bytes whoever writes them."""

import json

from prime_cli.core.refs import EnvRef

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:prime-cli:environment:v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


def make_statement(ref: EnvRef, wheel: str, sha256: str, content_hash: str | None) -> bytes:
    """The statement that the wheel of that file name and digest is the version `ref`.

    An in-toto statement (version 1 of its specification) as canonical JSON: ASCII, sorted keys, no
    blanks. Owner and name are in it, so that it says nothing of the same bytes elsewhere.
    """
    statement = {
        "_type": STATEMENT_TYPE,
        "predicate": {
            "content_hash": content_hash,
            "environment": ref.slug,
            "version": ref.version,
        },
        "predicateType": PREDICATE_TYPE,
        "subject": [{"digest": {"sha256": sha256}, "name": wheel}],
    }
    return json.dumps(statement, sort_keys=True, separators=(",", ":")).encode("ascii")

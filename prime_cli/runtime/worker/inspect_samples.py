"""Run by an interpreter with inspect_ai: one of its logs as lines of JSON.

Two arguments: the log and the file to write. The first line is {"reader": release of inspect_ai,
"log": the log without samples}, each further one a sample without events, with texts and images
instead of references. Their form: https://inspect.aisi.org.uk/reference/inspect_ai.log.html
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

_LEFT_OUT = {"events", "store", "attachments", "timelines"}


def main(source: str, target: str) -> None:
    inspect_ai: Any = importlib.import_module("inspect_ai")
    log: Any = importlib.import_module("inspect_ai.log")
    header = log.read_eval_log(source, header_only=True)
    samples = log.read_eval_log_samples(
        source, all_samples_required=False, resolve_attachments=True
    )
    with Path(target).open("w", encoding="utf-8", newline="\n") as file:
        told = header.model_dump(mode="json", exclude_none=True)
        file.write(json.dumps({"reader": inspect_ai.__version__, "log": told}) + "\n")
        for sample in samples:
            kept = sample.model_dump(mode="json", exclude_none=True, exclude=_LEFT_OUT)
            file.write(json.dumps(kept) + "\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ValueError as error:
        # inspect_ai says "unable to read", and why in the cause.
        raise (error.__cause__ or error) from None

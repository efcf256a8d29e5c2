"""GRPO by TRL over the rollout service: `PYTHON main.py CONFIG.json`, run by TRL's interpreter."""

import os
import sys
import threading


def _end_with_stdin() -> None:
    # Not sys.stdin: a thread that waits inside it aborts the interpreter at its end.
    while os.read(0, 65536):
        pass
    os._exit(1)


if __name__ == "__main__":
    # Before the imports, which take seconds.
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    from prime_trl.run import main  # type: ignore[import-not-found]

    code = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    # The threads of pending calls would keep the interpreter for as long as these last.
    os._exit(code)

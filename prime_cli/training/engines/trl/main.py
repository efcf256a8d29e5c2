"""GRPO by TRL over the rollout service: `PYTHON main.py CONFIG.json`, run by TRL's interpreter."""

import os
import sys
import threading


def _end_with_stdin() -> None:
    # Not sys.stdin: a thread that waits inside it aborts the interpreter at its end.
    while os.read(0, 65536):
        pass
    os._exit(1)


def _run(path: str) -> int:
    from prime_trl.config import read_config  # type: ignore[import-not-found]

    config = read_config(path)
    if config.processes == 1:
        # transformers would spread one process over all that it sees.
        os.environ["CUDA_VISIBLE_DEVICES"] = _first(os.environ.get("CUDA_VISIBLE_DEVICES", "0"))
    from prime_trl.processes import is_launcher, launch  # type: ignore[import-not-found]

    if is_launcher(config):
        return int(launch(__file__, path, config))
    from prime_trl.run import main  # type: ignore[import-not-found]

    return int(main(path))


def _first(devices: str) -> str:
    return devices.partition(",")[0]


if __name__ == "__main__":
    # Before the imports, which take seconds.
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    code = _run(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    # The threads of pending calls would keep the interpreter for as long as these last.
    os._exit(code)

"""An engine without weights: `options.behaviour` of its config says at which step it does what.

Its policy is right more often with each version, so that a training of it is decisive.
"""

import faulthandler
import json
import os
import shutil
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

CONFIG: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
BEHAVIOUR: dict[str, Any] = CONFIG["options"].get("behaviour", {})
FOLDER = Path(os.environ["PRIME_RUN_FOLDER"])
state = {"version": 0, "calls": 0}


def end_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


class Policy(BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        state["calls"] += 1
        if BEHAVIOUR.get("silent"):
            time.sleep(600)
        is_right = state["version"] > state["calls"] % 4 and not BEHAVIOUR.get("never_right")
        text = body["messages"][-1]["content"] if is_right else "no"
        ids = list(text.encode())
        logprobs = {"content": [{"token": "", "logprob": -0.5} for _ in ids]}
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
            "token_ids": ids,
            "logprobs": logprobs,
        }
        usage = {"prompt_tokens": 1, "completion_tokens": len(ids), "total_tokens": 1 + len(ids)}
        answer = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [choice],
            "prompt_token_ids": [1],
            "usage": usage,
        }
        if BEHAVIOUR.get("no_ids"):
            del answer["prompt_token_ids"]
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def ask(method: str, path: str, body: Any = None) -> bytes:
    request = Request(
        f"{os.environ['PRIME_ROLLOUTS_URL']}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {os.environ['PRIME_ROLLOUTS_TOKEN']}"},
    )
    try:
        with urlopen(request) as response:
            return bytes(response.read())
    except HTTPError as error:
        sys.stderr.write(error.read().decode())
        sys.exit(1)


def save(step: int) -> None:
    aside = FOLDER / "checkpoints" / f".tmp-{step}"
    aside.mkdir(parents=True)
    (aside / "weights").write_text(str(step))
    shutil.rmtree(FOLDER / "checkpoints" / str(step), ignore_errors=True)
    aside.rename(FOLDER / "checkpoints" / str(step))


def misbehave(step: int) -> None:
    if step == BEHAVIOUR.get("die_at"):
        os.kill(os.getpid(), 9)
    if step == BEHAVIOUR.get("crash_at"):
        sys.stderr.write(BEHAVIOUR["last_words"])
        sys.exit(BEHAVIOUR.get("code", 1))
    if step == BEHAVIOUR.get("fill_the_disk_at"):
        (FOLDER / "metrics.jsonl").unlink()
        (FOLDER / "metrics.jsonl").symlink_to("/dev/full")
    if step == BEHAVIOUR.get("return_at"):
        os._exit(0)
    if step == BEHAVIOUR.get("stop_at"):
        (FOLDER / "stop").touch()
    if step == BEHAVIOUR.get("hang_at"):
        time.sleep(600)
    if step == BEHAVIOUR.get("fail_at"):
        ask("POST", "failures", BEHAVIOUR["failure"])
        sys.exit(1)


def train() -> None:
    environment = json.loads(ask("GET", "environment"))
    if BEHAVIOUR.get("tell_loaded"):
        print(json.dumps(environment), flush=True)
    numbers = environment["numbers"] or list(range(environment["examples"]))
    first = 0 if CONFIG["resume"] is None else int(Path(CONFIG["resume"]).name)
    state["version"] = first
    if BEHAVIOUR.get("tell_environment"):
        print(json.dumps(dict(os.environ)), flush=True)
    if first == 0 and CONFIG["evaluate"]:
        ask("POST", "evaluations", {"step": 0})
    with ThreadPoolExecutor(8) as pool:
        for step in range(first + 1, CONFIG["steps"] + 1):
            misbehave(step)
            picked = [numbers[(step + place) % len(numbers)] for place in range(CONFIG["batch"])]
            bodies = [
                {"example": each, "n": CONFIG["group"], "tag": {"step": step}} for each in picked
            ]
            list(pool.map(lambda body: ask("POST", "rollouts", body), bodies))
            state["version"] = step
            ask("PUT", "policy", {"version": step})
            metrics = {"loss": 1.0 / step, "length": 3.0, "seconds": {"generate": 0.1}}
            answer = json.loads(ask("POST", "steps", {"step": step, "metrics": metrics}))
            stop = answer["stop"]
            if stop or step % CONFIG["save_every"] == 0 or step == CONFIG["steps"]:
                save(step)
            if step == BEHAVIOUR.get("crash_after"):
                sys.stderr.write(BEHAVIOUR["last_words"])
                sys.exit(1)
            if answer["finished"]:
                break
            if stop:
                return
    (FOLDER / "model").mkdir(exist_ok=True)
    if CONFIG["evaluate"]:
        ask("POST", "evaluations", {"step": state["version"]})


if __name__ == "__main__":
    if sys.platform != "win32":
        faulthandler.register(signal.SIGUSR1, all_threads=True)
    threading.Thread(target=end_with_stdin, daemon=True).start()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Policy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    ask("PUT", "policy", {"url": url, "model": CONFIG["model"], "version": 0})
    train()
    print("done", flush=True)
    os._exit(0)

"""An environment for the small verifiers; what it does wrong is said by its arguments."""

import asyncio
import atexit
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import verifiers as vf


async def correct(state):
    trouble = state["info"]["trouble"]
    if trouble == "reward":
        raise ZeroDivisionError("no reward today")
    if trouble == "slow reward":
        await asyncio.sleep(60)
    if trouble == "sleeping reward":
        time.sleep(60)  # noqa: ASYNC251
    if trouble == "looping reward":
        while True:
            pass
    if trouble == "matching reward":
        re.match(r"(a+)+$", "a" * 60 + "b")
    if trouble == "dead reward":
        sum(itertools.repeat(0))  # C code that looks at no signals
    return state["answer"] in state["completion"][0].content


def length(state):
    if state["info"]["trouble"] == "metric":
        raise ZeroDivisionError("no metric today")
    return len(state["completion"][0].content)


class Small(vf.Environment):
    hangs = False

    async def rollout(self, input, client, model, sampling_args):  # noqa: A002
        print("a rollout begins")
        print("and says so on stderr", file=sys.stderr)
        os.write(1, b"and on descriptor 1\n")
        print("at SIGTERM:", signal.getsignal(signal.SIGTERM))
        state = await super().rollout(input, client, model, sampling_args)
        trouble = input["info"]["trouble"]
        if trouble == "raise":
            raise TypeError("no rollout today")
        if trouble == "exit":
            os._exit(7)
        if trouble == "sleep":
            await asyncio.sleep(60)
        if trouble == "block":
            time.sleep(60)  # noqa: ASYNC251
        return state

    async def _teardown(self):
        print("torn down")
        if self.hangs:
            time.sleep(600)  # noqa: ASYNC251


class Grouped(Small):
    requires_group_rollouts = True


def load_environment(
    count: int = 3,
    trouble: str = "",
    example: int = 1,
    grouped: bool = False,
    child: str = "",
    hangs: bool = False,
):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    atexit.register(print, "exit hooks run")
    if child:
        process = subprocess.Popen(["sleep", "60"])
        Path(child).write_text(str(process.pid), encoding="utf-8")
    rows = [
        {
            "prompt": [{"role": "user", "content": f"say word{n}"}],
            "answer": f"word{n}",
            "info": {"trouble": trouble if n == example else ""},
        }
        for n in range(count)
    ]
    cls = Grouped if grouped else Small
    cls.hangs = hangs
    return cls(rows, vf.Rubric([correct, length], [1.0, 0.0]))


async def oracle(messages, *, answer, info):
    if info["trouble"] == "oracle":
        raise LookupError("no oracle today")
    if info["trouble"] == "tool":
        arguments = {"text": answer}
        return {"tool_calls": [{"function": {"name": "say", "arguments": arguments}}]}
    await asyncio.sleep(0)
    return f"{messages[-1]['content']}: {answer}"

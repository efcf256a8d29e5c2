"""An environment that asks for hosts that cannot be: one while it loads, one in its rollouts."""

import contextlib
import socket

import verifiers as vf


def ask_for(host):
    with contextlib.suppress(OSError):
        socket.create_connection((host, 80), timeout=1)


class CallsOut(vf.Environment):
    async def rollout(self, input, client, model, sampling_args):  # noqa: A002
        ask_for("rollout.invalid")
        return await super().rollout(input, client, model, sampling_args)


def load_environment():
    ask_for("load.invalid")
    ask_for("load.invalid")
    prompt = [{"role": "user", "content": "say what stands here"}]
    rows = [{"prompt": prompt, "answer": "what stands here", "info": {}} for _ in range(3)]
    return CallsOut(rows, vf.Rubric([lambda state: 1.0], [2.0]))

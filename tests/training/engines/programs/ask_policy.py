"""Run by TRL's interpreter: what policies answer, in a step and in an evaluation.

Reads JSON from stdin: [[FOLDER, REQUEST], ...]. Prints for each, as JSON: the folder, whether it
has tools, the phase, whether it is a stream, and the answer.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

from prime_trl.config import Config
from prime_trl.generation import Generating
from prime_trl.policy import Policy
from prime_trl.run import ends_of, load_tokenizer
from transformers import AutoModelForCausalLM


def ask(policy, body):
    """What the policy answers."""
    headers = {"content-type": "application/json", "authorization": "Bearer " + policy.key}
    request = Request(policy.url + "/chat/completions", json.dumps(body).encode(), headers)
    return urlopen(request).read().decode()


def main():
    """Ask each model what stdin says."""
    for folder, body in json.load(sys.stdin):
        config = Config(folder, 1, 2, 1, 1e-3, 64, 1.0, 0, 1)
        tokenizer = load_tokenizer(config)
        ends = ends_of(config, tokenizer)
        model = AutoModelForCausalLM.from_pretrained(folder)
        sampler = Generating(lambda model=model: model, tokenizer, ends)
        policy = Policy(tokenizer, seed=0, most=64, ends=ends, kind=model.config.model_type)
        for phase in ("step", "evaluation"):
            for stream in (False, True):
                policy.begin(phase, as_served=phase == "evaluation")
                asked = {**body, "stream": stream, "user": "1.0"}
                with ThreadPoolExecutor(1) as pool:
                    waiting = pool.submit(ask, policy, asked)
                    policy.pump(sampler, waiting.done)
                print(json.dumps([folder, "tools" in body, phase, stream, waiting.result()]))


if __name__ == "__main__":
    main()

"""A program plays a coding agent that reads no document: only `prime schema` and hints."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cli import Result
from tests.journeys.somebody import Somebody

_WORD = re.compile(r"[a-z]+")
_MODEL = re.compile(r"builtin/\w+")
_TYPED = re.compile(r"`prime ([^`]+)`")


class Agent:
    """It chooses a command by the words of its summary, and options by those of their help."""

    def __init__(self, home: Path) -> None:
        self._shell = Somebody(home, {"AI_AGENT": "scripted", "PRIME_OWNER": "ada"})
        self.seen: list[str] = []

    def find(self, goal: str) -> dict[str, Any]:
        """The schema of the command whose summary shares most words with `goal`."""
        listed = self._read("schema")["commands"]
        chosen = max(listed, key=lambda each: _shared(goal, each["summary"]))
        found: dict[str, Any] = self._read("schema", *chosen["command"].split()[1:])
        return found

    def option(self, schema: dict[str, Any], about: str) -> str:
        """The option whose name and help share most words with `about`."""

        def likeness(option: dict[str, Any]) -> float:
            return _shared(about, f"{option['name']} {option['help']}")

        return str(max(schema["options"], key=likeness)["name"])

    def model(self, schema: dict[str, Any], *, but: str = "") -> str:
        """A model that an example, an option or a hint names, other than `but`."""
        named = [*schema["examples"], *(each["help"] for each in schema["options"]), *self.seen]
        models = [name for text in named for name in _MODEL.findall(text)]
        return next(str(name) for name in models if name != but)

    def do(self, schema: dict[str, Any], *words: str) -> Any:
        """Run the command as JSON; the answer has each field that its schema requires."""
        answer = self._read(*schema["command"].split()[1:], *words)
        kinds = schema["answer"].get("anyOf", [schema["answer"]])
        needed = [_required(schema["answer"], each) for each in kinds]
        assert any(each <= answer.keys() for each in needed), (schema["command"], answer)
        return answer

    def follow(self, result: Result) -> list[str]:
        """The words of the command that the hint of an error names."""
        hint = json.loads(result.err.splitlines()[-1])["error"]["hint"]
        named = re.search(r"`([^`]+)`", hint)
        assert named, hint
        return shlex.split(named[1].removeprefix("prime "))

    def run(self, *words: str) -> Result:
        done = self._shell.prime(*words, "--output", "json")
        self.seen += _TYPED.findall(done.err)
        return done

    def _read(self, *words: str) -> Any:
        return self.run(*words).ok().json


def _shared(goal: str, text: str) -> float:
    wanted, found = set(_WORD.findall(goal.lower())), set(_WORD.findall(text.lower()))
    return len(wanted & found) / len(wanted | found)


def _required(whole: dict[str, Any], schema: dict[str, Any]) -> set[str]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return set((whole["$defs"][name] if name else schema).get("required", ()))


@pytest.mark.slow
def test_an_agent_that_reads_no_document_gets_from_nothing_to_a_gate(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    misspelt = agent.run("env", "inti")
    assert misspelt.code == 2
    assert agent.follow(misspelt)[-1].endswith("init")

    made = agent.do(agent.find("create a new environment"), "say-sum")
    project = made["path"]
    checked = agent.do(agent.find("check the quality of an environment"), project)
    assert checked["verdict"] in ("pass", "warn")
    published = agent.do(agent.find("build an environment and publish it to the hub"), project)
    reference = published["environment"]

    evaluate = agent.find("evaluate a model on an environment")
    flag = agent.option(evaluate, "a model or an alias")
    examples = agent.option(evaluate, "num examples")
    good = agent.model(evaluate)
    best = agent.do(evaluate, reference, flag, good, examples, "3")
    other = agent.do(evaluate, reference, flag, agent.model(evaluate, but=good), examples, "3")
    assert best["reward"]["mean"] > other["reward"]["mean"]

    compare = agent.find("test whether runs differ significantly")
    report = agent.do(compare, other["run_id"], best["run_id"])
    assert report["comparisons"][0]["difference"] == pytest.approx(1.0)

    gate = agent.find("check a saved evaluation against limits")
    least = agent.option(gate, "fail when the mean reward is lower")
    assert agent.do(gate, best["run_id"], least, "0.9")["passed"]
    assert agent.run(*gate["command"].split()[1:], other["run_id"], least, "0.9").code == 1

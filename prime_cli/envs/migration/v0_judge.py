"""The other model that a `JudgeRubric` of v0 asks, as the `JudgeConfig` of a v1 task."""

import ast
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from packaging.version import Version

from prime_cli.envs.migration import source as reader
from prime_cli.envs.migration.source import Function, Remark, Source

_MODEL = "gpt-4.1-nano"
"""The judge of `JudgeRubric` without `judge_model`."""
_KEY_VARIABLE = "OPENAI_API_KEY"
OPENAI_URL = "v0.OPENAI_URL"
"""Where a client of OpenAI asks that is given no address, in the migrated module."""
_READ_ENVIRONMENT = ("os.getenv", "os.environ.get", "getenv", "environ.get")
_WITHOUT_QUESTION = Version("0.1.11")
"""From here on `JudgeRubric` takes the question from a dict only, and messages are none."""
_KNOWN = {"judge_client", "judge_model", "judge_prompt", "judge_sampling_args", "parser"}


@dataclass(frozen=True)
class V0Judge:
    """`settings` are the arguments of a `JudgeConfig`, as source text.

    `moved` are the arguments of `load_environment` that are fields of the config now, by name.
    `sees_question` is False where its release fills `{question}` with nothing.
    """

    settings: Mapping[str, str]
    moved: Mapping[str, str]
    prompt: ast.expr | None
    parser: ast.expr | None
    sees_question: bool = True

    @property
    def address(self) -> str | None:
        """The source text of an address of its own."""
        url = self.settings.get("base_url", OPENAI_URL)
        return None if url == OPENAI_URL else url


def read_judge(
    source: Source, load: Function, call: ast.Call, given: Mapping[str, ast.expr]
) -> tuple[V0Judge, list[Remark]]:
    """The judge of `call` with the arguments `given`, and what of it has no form in v1."""
    found = _Reader(source, load)
    if call.args or any(each.arg is None for each in call.keywords):
        found.refuse(call, "`JudgeRubric` is given arguments without their names")
    for name in given.keys() - _KNOWN - {"parallelize_scoring"}:
        found.refuse(given[name], f"`{name}` of `JudgeRubric` has no form in v1")
    found.read_text("model", given.get("judge_model"), repr(_MODEL))
    found.read_client(given.get("judge_client"))
    found.read_sampling(given.get("judge_sampling_args"))
    prompt = given.get("judge_prompt")
    if prompt is not None and reader.used_names(prompt) & reader.arguments_of(load).keys():
        found.refuse(prompt, "the prompt of the judge is an argument, which is a file in v1")
    return V0Judge(found.settings, found.moved, prompt, given.get("parser")), found.refused


def sees_question(release: str) -> bool:
    """Whether `JudgeRubric` of this release of verifiers tells its judge the question."""
    return not release or Version(release) < _WITHOUT_QUESTION


class _Reader:
    def __init__(self, source: Source, load: Function) -> None:
        self._source = source
        self._defaults = reader.arguments_of(load)
        self.settings: dict[str, str] = {}
        self.moved: dict[str, str] = {}
        self.refused: list[Remark] = []

    def refuse(self, node: ast.AST, sentence: str) -> None:
        self.refused.append(self._source.remark(node, sentence))

    def read_text(self, field: str, node: ast.expr | None, default: str) -> None:
        """A field whose value is written here, or is the default of an argument.

        `default` is the source text of the value that v0 takes for none.
        """
        value = None if node is None else reader.literal(node)
        if isinstance(node, ast.Name) and (given := self._defaults.get(node.id)) is not None:
            value = reader.literal(given)
            self.moved[node.id] = field
        if isinstance(value, str):
            self.settings[field] = repr(value)
        elif value is None:
            self.settings[field] = default
        elif node is not None:
            self.refuse(node, f"`{ast.unparse(node)}`, the judge's {field}, cannot be read here")

    def read_client(self, node: ast.expr | None) -> None:
        """The address and the key's variable of an OpenAI client."""
        given: dict[str | None, ast.expr] = {}
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("OpenAI"):
            given = {each.arg: each.value for each in node.keywords}
        elif node is not None and reader.literal(node) is not None:
            self.refuse(node, "the client of the judge is not made here")
        for name in given.keys() - {"base_url", "api_key"}:
            self.refuse(given[name], f"`{name}` of the judge's client has no form in v1")
        self.read_text("base_url", given.get("base_url"), OPENAI_URL)
        self.read_text("api_key_var", self._variable(given.get("api_key")), repr(_KEY_VARIABLE))

    def _variable(self, node: ast.expr | None) -> ast.expr | None:
        """What names the variable of a key."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _READ_ENVIRONMENT:
            return node.args[0]
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            return node.slice
        if node is not None and reader.literal(node) is not None:
            self.refuse(node, "the key of the judge is not read from a variable here")
        return None

    def read_sampling(self, node: ast.expr | None) -> None:
        value = {} if node is None else reader.literal(node)
        if isinstance(value, dict):
            self.settings |= {"sampling": f"vf.SamplingConfig(**{value!r})"} if value else {}
        elif value is not None and node is not None:
            self.refuse(node, "`judge_sampling_args` cannot be read here")


def without_state(function: Function) -> Function:
    """The function where the judge is not given the state, in which v0 kept its answers."""
    copied = copy.deepcopy(function)
    for call in _judge_calls(copied):
        call.args = [each for each in call.args if ast.unparse(each) != "state"]
        call.keywords = [each for each in call.keywords if ast.unparse(each.value) != "state"]
    return copied


def _judge_calls(function: Function) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "judge":
            yield node

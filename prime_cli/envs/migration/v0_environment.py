"""What a v0 environment is made of, read from the source of its `load_environment`."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from prime_cli.envs.migration import source as reader
from prime_cli.envs.migration.source import Function, Remark, Source, cannot_migrate
from prime_cli.envs.migration.v0_judge import V0Judge, read_judge, without_state

LOAD = "load_environment"
GIVEN = ("completion", "answer", "prompt", "info", "task", "parser", "state")
"""The arguments of v0's reward functions that the v1 form gives them."""
_FORMAT = "format_reward_func"
_ADDED = {"add_reward_func": 1.0, "add_metric": 0.0}
"""Methods of a rubric, and the weights of what they add."""
_GROUP = {"states", "prompts", "completions", "answers", "tasks", "infos"}
_OF_A_TASK = set(
    "score setup finalize validate key hash data config hooks toolsets runtime_env stage_verifier "
    "data_type config_type plugged_judges with_data with_system_prompt defer_scoring".split()
)
"""Names that a reward cannot have, as `vf.Task` has something else under them."""
_MULTI_TURN = "the `multi-turn` template of `prime env init` shows how an `Env` plays the user"


@dataclass(frozen=True)
class RewardFunction:
    """A function of the rubric by its name in v0; `node` names it, `parser` is its rubric's."""

    name: str
    node: ast.expr
    weight: float
    takes: tuple[str, ...]
    is_async: bool
    parser: ast.expr | None


@dataclass
class V0Environment:
    """`body` are the statements of `load_environment` before what it returns, without rubrics.

    `rows` is the data for evaluation, `train` that for training where it is another. `tools` are
    functions that the model may call. `left_out` is what is not carried over, though the rest is.
    """

    source: Source
    load: Function
    body: list[ast.stmt]
    rows: ast.expr | None = None
    train: ast.expr | None = None
    system_prompt: ast.expr | None = None
    rewards: list[RewardFunction] = field(default_factory=list)
    judge: V0Judge | None = None
    tools: list[Function] = field(default_factory=list)
    max_turns: int | None = None
    left_out: list[Remark] = field(default_factory=list)

    @property
    def data_values(self) -> list[ast.expr]:
        """The expressions of its examples and their system prompt."""
        return [node for node in (self.rows, self.train, self.system_prompt) if node is not None]

    @property
    def data_statements(self) -> list[ast.stmt]:
        """Those of load_environment that its examples depend on."""
        return reader.needed(self.body, reader.used_names(*self.data_values))

    @property
    def parsers(self) -> list[ast.expr]:
        """Those that its rewards and its judge are given."""
        found = [each.parser for each in self.rewards if each.parser and "parser" in each.takes]
        return [*found, *([self.judge.parser] if self.judge and self.judge.parser else [])]

    @property
    def scoring_names(self) -> set[str]:
        """The names by which its rewards, their parsers and its tools are called."""
        prompts = [self.judge.prompt] if self.judge and self.judge.prompt else []
        used = reader.used_names(*self.parsers, *prompts, *(each.node for each in self.rewards))
        return used | {each.name for each in self.tools}

    @property
    def scoring_statements(self) -> list[ast.stmt]:
        """Those of load_environment that its rewards and tools depend on."""
        return reader.needed(self.body, self.scoring_names)


def read_environment(sources: Sequence[Source]) -> V0Environment:
    """That of the first source with `load_environment`.

    Raises CannotMigrate with every line that has no v1 form.
    """
    for source in sources:
        load = source.definitions.get(LOAD)
        if isinstance(load, Function):
            return _Reader(source, load).read()
    raise cannot_migrate([Remark("", 0, f"no module of the project defines `{LOAD}`")])


class _Reader:
    def __init__(self, source: Source, load: Function) -> None:
        self._source = source
        self._found = V0Environment(source, load, load.body[:-1])
        self._refused: list[Remark] = []

    def read(self) -> V0Environment:
        load = self._found.load
        call = self._constructor(load)
        kind = self._source.name_of(call.func)
        if kind in ("SingleTurnEnv", "ToolEnv"):
            self._read_arguments(call, str(kind))
        else:
            self._refuse_kind(call, kind or ast.unparse(call.func))
        rest = load.args.kwarg or load.args.vararg or next(iter(load.args.posonlyargs), None)
        if rest is not None and rest.arg in reader.used_names(*self._found.body):
            self._refuse(rest, f"the argument `{rest.arg}` has no form in a config")
        if self._refused:
            raise cannot_migrate(self._refused)
        return self._found

    def _refuse(self, node: ast.AST, sentence: str) -> None:
        self._refused.append(self._source.remark(node, sentence))

    def _stop(self, node: ast.AST, sentence: str) -> NoReturn:
        self._refuse(node, sentence)
        raise cannot_migrate(self._refused)

    def _drop(self, node: ast.stmt) -> None:
        self._found.body = [each for each in self._found.body if each is not node]

    def _constructor(self, load: Function) -> ast.Call:
        """The call that makes the environment."""
        last = load.body[-1]
        outer = [node for node in load.body if not isinstance(node, Function | ast.ClassDef)]
        returns = [e for node in outer for e in ast.walk(node) if isinstance(e, ast.Return)]
        if not isinstance(last, ast.Return) or last.value is None or returns != [last]:
            self._stop(load, f"`{LOAD}` has to end with its only `return`")
        value = self._resolve(last.value)
        if not isinstance(value, ast.Call):
            self._stop(last, "what it returns is not made by a call here")
        if isinstance(last.value, ast.Name):
            for node in self._found.body:
                if last.value.id in reader.used_names(node):
                    self._refuse(node, f"`{last.value.id}` is changed after it was made")
        return value

    def _resolve(self, node: ast.expr) -> ast.expr:
        """What a name of load_environment is assigned, whose statement is dropped."""
        if not isinstance(node, ast.Name):
            return node
        binding = [each for each in self._found.body if node.id in reader.bound_names(each)]
        value = reader.assigned(binding[0], node.id) if len(binding) == 1 else None
        if value is None:
            at = binding[-1] if binding else node
            self._stop(at, f"`{node.id}` is not assigned once, in a line of its own")
        self._drop(binding[0])
        return value

    def _refuse_kind(self, call: ast.Call, name: str) -> None:
        classes = [*self._found.load.body, *self._source.tree.body]
        own = next((e for e in classes if isinstance(e, ast.ClassDef) and e.name == name), None)
        if own is None:
            self._refuse(call, f"`{name}` has no v1 form that this command writes")
            return
        methods = {each.name: each for each in own.body if isinstance(each, Function)}
        where = methods.get("env_response", own)
        what = f"`{name}.env_response`" if where is not own else f"the class `{name}`"
        self._refuse(where, f"{what} has to be written anew for v1: {_MULTI_TURN}")

    def _read_arguments(self, call: ast.Call, kind: str) -> None:
        found = self._found
        given = {each.arg: each.value for each in call.keywords if each.arg}
        rest = found.load.args.kwarg and found.load.args.kwarg.arg
        passed = [each.value for each in call.keywords if not each.arg]
        if call.args or any(ast.unparse(each) != rest for each in passed):
            self._stop(call, f"`{kind}` is given arguments without their names")
        found.left_out += [self._source.remark(e, f"`**{rest}` of `{kind}`") for e in passed]
        train, other = given.pop("dataset", None), given.pop("eval_dataset", None)
        found.rows = other or train
        if found.rows is None or "rubric" not in given:
            self._stop(call, f"`{kind}` is given no dataset, or no rubric")
        if train and ast.dump(train) != ast.dump(found.rows):
            found.train = train
        found.system_prompt = given.pop("system_prompt", None)
        given.pop("parser", None)
        self._read_rubric(given.pop("rubric"))
        if kind == "ToolEnv":
            self._read_tools(call, given)
        for name, value in given.items():
            if name in ("few_shot", "message_type") and reader.literal(value) not in (
                None,
                [],
                "chat",
            ):
                self._refuse(value, f"`{name}` has no form in v1")
            found.left_out.append(self._source.remark(value, f"`{name}` of `{kind}`"))

    # --- Rubrics ---

    def _read_rubric(self, node: ast.expr) -> None:
        call = self._resolve(node)
        kind = self._source.name_of(call.func) if isinstance(call, ast.Call) else None
        if not isinstance(call, ast.Call) or kind not in ("Rubric", "RubricGroup", "JudgeRubric"):
            self._stop(call, f"`{ast.unparse(call)[:60]}` is a rubric without a known v1 form")
        if kind == "RubricGroup":
            for each in self._elements(_argument(call, "rubrics", 0)):
                self._read_rubric(each)
            return
        if kind == "JudgeRubric":
            parser = self._read_judge(call)
            if isinstance(node, ast.Name):
                self._read_changes(node.id, parser)
            return
        parser = _argument(call, "parser", 2)
        weights = iter(self._elements(_argument(call, "weights", 1)))
        for function in self._elements(_argument(call, "funcs", 0)):
            self._add_reward(function, next(weights, ast.Constant(1.0)), parser)
        if isinstance(node, ast.Name):
            self._read_changes(node.id, parser)

    def _read_judge(self, call: ast.Call) -> ast.expr | None:
        """The parser of a rubric that asks another model, which its rewards get as `judge`."""
        if self._found.judge is not None:
            self._stop(call, "a second `JudgeRubric`")
        given = {each.arg: each.value for each in call.keywords if each.arg}
        client = given.get("judge_client")
        if client is not None:
            given["judge_client"] = self._resolve(client)
        judge, refused = read_judge(self._source, self._found.load, call, given)
        self._refused += refused
        self._found.judge = judge
        return judge.parser

    def _elements(self, node: ast.expr | None) -> Sequence[ast.expr]:
        """Those of a list that is written here, or assigned once."""
        value = node if node is None else self._resolve(node)
        if isinstance(value, ast.List | ast.Tuple):
            return value.elts
        if value is not None and reader.literal(value) is not None:
            self._refuse(value, f"`{ast.unparse(value)}` is not a list that can be read here")
        return ()

    def _read_changes(self, rubric: str, parser: ast.expr | None) -> None:
        """`rubric.add_reward_func(…)` and `add_metric`; any other use of it is refused."""
        for node in self._found.body:
            call = node.value if isinstance(node, ast.Expr) else None
            function = _argument(call, "func", 0)
            method = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
            weight = _ADDED.get(method.removeprefix(f"{rubric}."))
            if function is not None and weight is not None:
                given = _argument(call, "weight", 1) or ast.Constant(weight)
                self._add_reward(function, given, parser)
                self._drop(node)
            elif rubric in reader.used_names(node):
                self._refuse(node, f"`{rubric}` is used in a way without a known v1 form")

    def _add_reward(self, node: ast.expr, weight: ast.expr, parser: ast.expr | None) -> None:
        worth, function = reader.literal(weight), self._function(node)
        if not isinstance(worth, int | float) or function is None:
            at, what = (weight, "number") if function else (node, "function of this file")
            self._refuse(at, f"`{ast.unparse(at)}` is no {what}")
            return
        name = function if isinstance(function, str) else function.name
        if name in _OF_A_TASK or name in {each.name for each in self._found.rewards}:
            self._refuse(node, f"a reward of v1 cannot be called `{name}`: rename it")
        takes = ("completion",) if isinstance(function, str) else self._takes(function)
        is_async = isinstance(function, ast.AsyncFunctionDef)
        found = RewardFunction(name, node, float(worth), takes, is_async, parser)
        self._found.rewards.append(found)

    def _function(self, node: ast.expr | None) -> Function | str | None:
        """The definition of what `node` names, or the name of a parser's own function."""
        if isinstance(node, ast.Name):
            here = [each for each in self._found.body if node.id in reader.bound_names(each)]
            found = here[-1] if here else self._source.definitions.get(node.id)
            if isinstance(found, Function):
                return found
            node = None if found is None else reader.assigned(found, node.id)
        text = ast.unparse(node) if isinstance(node, ast.Call) else ""
        return _FORMAT if text.endswith(f".get_{_FORMAT}()") else None

    def _takes(self, function: Function) -> tuple[str, ...]:
        """The arguments that it is given in v1; those that v1 does not have are refused."""
        names, text = reader.arguments_of(function), ast.unparse(function)
        function = without_state(function)
        given = (*GIVEN, "judge") if self._found.judge else GIVEN
        lacking = {each for each, default in names.items() if each not in given and default is None}
        found = [each for each in given if each in names]
        if function.args.kwarg and function.args.kwarg.arg in reader.used_names(function):
            lacking |= (reader.keys_read(function, function.args.kwarg.arg) or set()) - set(
                GIVEN[:-1]
            )
            found += [each for each in GIVEN[:-1] if each not in found]
        if "state" in names:
            of_state = reader.keys_read(function, "state")
            lacking |= {"state"} if of_state is None else of_state - set(GIVEN)
        for each in sorted(lacking):
            self._refuse(function, f"`{function.name}` needs `{each}`, which v1 does not have")
        if lacking & _GROUP or "-> list" in text.lower():
            self._refuse(function, f"`{function.name}` compares the rollouts of an example")
        if "tool_calls" in text:
            self._refuse(function, f"`{function.name}` reads tool calls, which v1 writes otherwise")
        return tuple(found)

    def _read_tools(self, call: ast.Call, given: dict[str, ast.expr]) -> None:
        for each in self._elements(given.pop("tools", None)):
            function = self._function(each)
            if isinstance(function, Function) and not (function.args.vararg or function.args.kwarg):
                self._found.tools.append(function)
            else:
                self._refuse(each, f"the tool `{ast.unparse(each)}` cannot be described to a model")
        turns = reader.literal(given.pop("max_turns", ast.Constant(10)))
        if not isinstance(turns, int | float):
            self._refuse(call, "`max_turns` is not a number that can be read here")
        elif turns > 0:
            self._found.max_turns = int(turns)


def _argument(call: ast.expr | None, name: str, position: int) -> ast.expr | None:
    if not isinstance(call, ast.Call):
        return None
    named = next((each.value for each in call.keywords if each.arg == name), None)
    return named or (call.args[position] if position < len(call.args) else None)

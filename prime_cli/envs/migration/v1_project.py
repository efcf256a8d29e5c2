"""The files of a v1 project that scores like a v0 one."""

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import tomli_w

from prime_cli.envs.migration import source as reader
from prime_cli.envs.migration import v0
from prime_cli.envs.migration.source import CARRIED, Function, Remark, Source, cannot_migrate
from prime_cli.envs.migration.v0_environment import V0Environment, read_environment
from prime_cli.envs.project.folder import Project
from prime_cli.envs.project.pyproject import FILENAME
from prime_cli.envs.project.scaffold import README, V1_VERIFIERS, Scaffold

_ORACLE = "oracle"
_FIELDS = {"id", "task", "name", "system_prompt", "split"}
"""Names that `vf.TasksetConfig` has, or that are given to it here."""
_PLAIN = {"int", "float", "str", "bool", "list", "dict", "Any", "Optional", "Literal"}
_VALUES = {name: f"self.data.{name}" for name in ("answer", "info", "task")}
_VALUES |= {"completion": "v0.said(trace)", "prompt": "v0.asked(self.data)"}
_VALUES["state"] = "v0.state_of(self.data, trace)"


def read_project(project: Project) -> V0Environment:
    """The environment of a v0 project; raises CannotMigrate."""
    folder = project.root / project.module
    files = [folder.with_suffix(".py"), *sorted(folder.rglob("*.py"))]
    sources = [
        Source(file.relative_to(project.root).as_posix(), file.read_text("utf-8-sig", "replace"))
        for file in files
        if file.is_file()
    ]
    environment = read_environment(sources)
    source = environment.source
    refused = [
        other.remark(node, "another file of the package imports verifiers")
        for other in sources
        for node in other.tree.body
        if other is not source and other.is_library_import(node)
    ]
    moved = [*environment.data_values, *environment.scoring_statements, *environment.parsers]
    uses = source.uses(*_kept(environment), *environment.data_statements, *moved)
    lacking = sorted(uses.keys() - CARRIED)
    refused += [source.remark(uses[name], f"verifiers 0.4 has no `{name}`") for name in lacking]
    if refused:
        raise cannot_migrate(refused)
    return environment


def plan_migration(
    project: Project, environment: V0Environment, weights: Mapping[str, float], root: Path
) -> Scaffold:
    """The files of the v1 form of `project`, to be written to `root`.

    Adds to what `environment` leaves out. Raises CannotMigrate where the `weights` of the loaded
    rubric contradict the source.
    """
    read = {each.name: each.weight for each in environment.rewards}
    scoring = {name: weight for name, weight in weights.items() if weight or name in read}
    if scoring != read:
        sentence = f"loaded, its rewards are {scoring}, where the source says {read}"
        raise cannot_migrate([environment.source.remark(environment.load, sentence)])
    return _Writer(project, environment).plan(root)


def _kept(environment: V0Environment) -> list[ast.stmt]:
    """The statements of the module that the migrated one keeps."""
    return [
        node
        for node in environment.source.tree.body
        if node is not environment.load
        and not environment.source.is_library_import(node)
        and not (isinstance(node, ast.If) and "__name__" in reader.used_names(node.test))
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]


class _Writer:
    def __init__(self, project: Project, environment: V0Environment) -> None:
        self._project = project
        self._environment = environment
        self._source = environment.source
        self._arguments = reader.arguments_of(environment.load)
        self._title = "".join(part.capitalize() for part in project.module.split("_") if part)
        text = ast.get_docstring(environment.source.tree) or project.description or project.name
        line = text.strip().splitlines()[0].replace('"', "'").replace("\\", "")
        self._doc = line if line.endswith((".", "!", "?")) else f"{line}."
        self._judge = environment.judge
        self._moved = environment.judge.moved if environment.judge else {}
        scoring = environment.scoring_statements
        used = reader.used_names(*environment.data_statements, *environment.data_values)
        self._of_data = [name for name in self._arguments if name in used]
        self._of_scoring = [n for n in self._arguments if n in reader.used_names(*scoring)]
        bound = {name for node in scoring for name in reader.bound_names(node)}
        is_free = not self._of_scoring and not bound & set(environment.source.definitions)
        self._made = [] if is_free else sorted(bound & environment.scoring_names)
        """What the methods get from `make_scoring`; none where that is at module level."""
        if self._made and environment.tools:
            sentence = "its tools or rewards depend on arguments, or hide other names"
            raise cannot_migrate([self._source.remark(environment.load, sentence)])

    def plan(self, root: Path) -> Scaffold:
        project, module = self._project, self._project.module
        self._tell()
        text = self._module()
        own = {file: file.relative_to(project.root) for file in project.root.rglob("*")}
        files = {
            name.as_posix(): file.read_text("utf-8", errors="replace")
            for file, name in own.items()
            if (name.parts[0] == module or name.name == README)
            and (file.is_file() and file.suffix != ".pyc" and str(name) != self._source.name)
        }
        files.setdefault(README, f"# {project.name}\n\n{self._doc}\n")
        files |= {
            FILENAME: tomli_w.dumps(self._pyproject(text)),
            f"{module}/__init__.py": self._init(),
            f"{module}/taskset.py": text,
            f"{module}/v0.py": Path(v0.__file__).read_text(encoding="utf-8"),
        }
        return Scaffold(project.name, module, root, files)

    def _tell(self) -> None:
        """Note what is left out, or found at another place."""
        found, load = self._environment.left_out, self._environment.load
        for name in self._arguments:
            path = self._path(name)
            is_used = name in {*self._of_data, *self._of_scoring, *self._moved}
            if path != name or not is_used:
                now = f"is `{path}` now" if is_used else "data and rewards do not use"
                found.append(self._source.remark(load, f"the argument `{name}`, which {now}"))
        asking = [each.name for each in self._environment.rewards if "judge" in each.takes]
        if len(asking) > 1:
            sentence = f"the judge's answers, which {', '.join(asking)} shared: each asks anew"
            found.append(self._source.remark(load, sentence))
        if self._judge and not self._judge.sees_question:
            sentence = "the question, which this release leaves out of the judge's prompt"
            hint = "remove `question=False` in taskset.py to fill it in"
            found.append(self._source.remark(load, f"{sentence}: {hint}"))
        if (self._project.root / "tests").is_dir():
            found.append(Remark("tests", 0, "its own tests"))

    # --- The module ---

    def _module(self) -> str:
        found, source = self._environment, self._source
        kept = _kept(found)
        oracle, kinds = source.definitions.get(_ORACLE), ast.Import | ast.ImportFrom
        imports = [source.statement(node) for node in kept if isinstance(node, kinds)]
        rest = [node for node in kept if not isinstance(node, kinds) and node is not oracle]
        given = [f"self.config.{self._path(name)}" for name in self._of_data]
        taken = list(self._of_data)
        options = [self._setting(name) for name in self._of_data if name not in self._of_scoring]
        settings = [self._setting(name) for name in self._of_scoring]
        if self._judge:
            values = ", ".join(f"{name}={text}" for name, text in self._judge.settings.items())
            settings.append(f"    judge: vf.JudgeConfig = vf.JudgeConfig({values})\n")
        if found.tools:
            settings.append("    tools: vf.ToolsetConfig = vf.ToolsetConfig()\n")
        if found.train:
            given, taken = [*given, "self.config.split"], [*taken, "split"]
            options.append('    split: str = "eval"\n')
        template = resources.files("prime_cli.envs.project") / "templates/v1/migrated.py.tmpl"
        text = Template(template.read_text(encoding="utf-8")).substitute(
            doc=self._doc,
            Title=self._title,
            module=self._project.module,
            imports="".join(sorted(imports, key=lambda each: "__future__" not in each)),
            kept="".join(f"\n{source.statement(node)}\n" for node in rest) + self._scoring(),
            taken=", ".join(taken),
            rows=self._rows(),
            tools=self._toolset(),
            settings="\n" * bool(settings) + "".join(settings),
            methods="".join(f"\n{each}" for each in self._methods()),
            options="".join(options),
            given=", ".join(given),
            rest=self._end(oracle),
        )
        return re.sub(r"\n{4,}", "\n\n\n", text).rstrip() + "\n"

    def _scoring(self) -> str:
        """What load_environment defines for its rewards."""
        source, statements = self._source, self._environment.scoring_statements
        parts = [source.statement(node, indent=4 * bool(self._made)) for node in statements]
        if not self._made:
            return "".join(f"\n{each}\n" for each in parts)
        named = ", ".join(f"{name}={name}" for name in self._made)
        settings = ", ".join(self._of_scoring)
        head = f'def make_scoring({settings}) -> Any:\n    """What scores with these settings."""\n'
        body = "\n".join([*parts, f"    return SimpleNamespace({named})\n"])
        return f"\n{head}{body}\n"

    def _rows(self) -> str:
        found, source = self._environment, self._source
        system = source.segment(found.system_prompt) if found.system_prompt else None
        lines = [source.statement(node, indent=4) for node in found.data_statements]
        if found.train:
            train = f"        return {source.segment(found.train)}, {system}\n"
            lines.append(f'    if split == "train":\n{train}')
        return "".join([*lines, f"    return {source.segment(found.data_values[0])}, {system}\n"])

    def _setting(self, name: str) -> str:
        args, default = self._environment.load.args, self._arguments[name]
        node = next(e.annotation for e in [*args.args, *args.kwonlyargs] if e.arg == name)
        kind = self._source.segment(node) if node and reader.used_names(node) <= _PLAIN else "Any"
        value = "" if default is None else f" = {self._source.segment(default)}"
        return f"    {self._path(name).rpartition('.')[2]}: {kind}{value}\n"

    def _path(self, name: str) -> str:
        """Where the config has the argument `name`."""
        if name in self._moved:
            return f"task.judge.{self._moved[name]}"
        field = f"own_{name}" if name in _FIELDS else name
        return f"task.{field}" if name in self._of_scoring else field

    def _methods(self) -> Iterator[str]:
        found, title = self._environment, self._title
        if found.tools:
            head = "    @classmethod\n    def toolsets(cls, config: Any) -> list[vf.Toolset]:\n"
            yield f"{head}        return [{title}Tools(config.tools)]\n"
        if found.max_turns:
            head = "    @vf.stop\n    async def enough_turns(self, trace: vf.Trace) -> bool:\n"
            yield f"{head}        return trace.num_turns >= {found.max_turns}\n"
        for each in found.rewards:
            mark = f"reward(weight={each.weight})" if each.weight else "metric"
            values = _VALUES | {"parser": self._called(each.parser) or "v0.Parser()"}
            values["judge"] = self._asked_judge()
            given = ", ".join(f"{name}={values[name]}" for name in each.takes)
            call = f"{'await ' * each.is_async}{self._called(each.node)}({given})"
            paths = [self._path(name).replace("task.", "self.config.") for name in self._of_scoring]
            made = f"        scoring = make_scoring({', '.join(paths)})\n" * ("scoring." in call)
            head = f"    @vf.{mark}\n    async def {each.name}(self, trace: vf.Trace) -> float:\n"
            yield f"{head}{made}        return float({call})\n"

    def _asked_judge(self) -> str:
        if self._judge is None:
            return ""
        parser = self._called(self._judge.parser) or "v0.Parser()"
        given = ["self.config.judge", "trace", parser, self._called(self._judge.prompt)]
        if not self._judge.sees_question:
            given.append("question=False")
        return f"v0.judge_of({', '.join(filter(None, given))})"

    def _called(self, node: ast.expr | None) -> str:
        """The text of an expression in a method."""
        text = "" if node is None else self._source.segment(node)
        return f"scoring.{text}" if re.split(r"\W", text)[0] in self._made else text

    def _toolset(self) -> str:
        if not self._environment.tools:
            return ""
        head = f"\nclass {self._title}Tools(vf.Toolset[vf.ToolsetConfig]):\n"
        text = '    """The tools, which verifiers serves in a process of their own."""\n\n'
        tools = [textwrap.indent(_tool(each), "    ") for each in self._environment.tools]
        return f"{head}{text}    TOOL_PREFIX = None\n" + "".join(f"\n{each}\n" for each in tools)

    def _end(self, oracle: ast.stmt | None) -> str:
        text = ""
        if oracle is not None:
            text = self._source.statement(oracle).replace(f"def {_ORACLE}(", "def reply_to(", 1)
            text = f"\n{text}\n\n{_ORACLE} = v0.oracle_of(reply_to)\n"
        if self._environment.tools:
            text += f'\n\nif __name__ == "__main__":\n    {self._title}Tools.run()\n'
        return text

    # --- The other files ---

    def _init(self) -> str:
        own = [f"{self._title}Taskset", *[_ORACLE] * (_ORACLE in self._source.definitions)]
        return (
            f'"""{self._doc}"""\n\nfrom verifiers.v1.harnesses.null import NullHarness\n\n'
            f"from {self._project.module}.taskset import {', '.join(own)}\n\n"
            f"__all__ = {[*own, 'NullHarness']}\n"
        )

    def _pyproject(self, text: str) -> dict[str, Any]:
        project, old = self._project, dict(self._project.pyproject["project"])
        required = [e for e in project.dependencies if not re.match(r"verifiers(?![\w-])", e)]
        # datasets came with verifiers
        if re.search(r"\bdatasets\b", text) and not any(e.startswith("datasets") for e in required):
            required.append("datasets>=2")
        table = {
            **{key: value for key, value in old.items() if key not in ("dynamic", "entry-points")},
            "version": project.version or "0.1.0",
            "readme": README,
            "requires-python": ",".join(filter(None, [">=3.11", project.requires_python])),
            "dependencies": [V1_VERIFIERS, *required],
        }
        wheel = {"build": {"targets": {"wheel": {"packages": [project.module]}}}}
        tools = {**project.pyproject.get("tool", {}), "hatch": wheel}
        backend = {"requires": ["hatchling"], "build-backend": "hatchling.build"}
        return {"build-system": backend, "project": table, "tool": tools}


def _tool(function: Function) -> str:
    """A method that calls the tool `function`, with its arguments and description."""
    method = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(method, Function)  # noqa: S101 - what was unparsed
    given = ", ".join(f"{name}={name}" for name in reader.arguments_of(function))
    is_async = isinstance(function, ast.AsyncFunctionDef)
    call = f"str({'await ' * is_async}{function.name}({given}))"
    docstring = [] if ast.get_docstring(function) is None else method.body[:1]
    method.body = [*docstring, ast.Return(ast.parse(call, mode="eval").body)]
    method.args.args.insert(0, ast.arg("self"))
    method.decorator_list = [ast.parse("vf.tool", mode="eval").body]
    method.returns = ast.Name("str")
    return ast.unparse(ast.fix_missing_locations(method))

"""A new environment project that builds, runs and passes its own tests as it is."""

import keyword
import re
import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib import resources
from pathlib import Path
from string import Template

from prime_cli.core.archive.imports import may_come_with_verifiers
from prime_cli.core.errors import Conflict, StorageFailed, UsageError
from prime_cli.core.paths import storage_errors, write_atomically
from prime_cli.core.refs import module_name

V0_VERIFIERS = "verifiers>=0.1.14,<0.4"
"""The releases whose v0 API the v0 templates are tested with."""
V1_VERIFIERS = "verifiers>=0.4,<0.5"

README = "README.md"
AGENTS = "AGENTS.md"
"""What coding agents read first in a project."""

_NAME = re.compile(r"[A-Za-z](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")


class TemplateKind(StrEnum):
    """What the model does in the environment that a scaffold makes."""

    SINGLE_TURN = "single-turn"
    MULTI_TURN = "multi-turn"
    TOOL = "tool"
    CODE = "code"
    JUDGE = "judge"
    TWO_PLAYERS = "two-players"

    @property
    def template(self) -> str:
        return self.value.replace("-", "_")


@dataclass(frozen=True)
class Scaffold:
    """A project that is to be written: its folder, and each file's text by relative path."""

    name: str
    module: str
    root: Path
    files: dict[str, str]


@dataclass(frozen=True)
class _Kind:
    """What a kind is about, its examples, its reward, and what its package has beside them.

    `examples` is the default of `num_examples`. `exports` are names of its module besides the
    taskset; `{}` stands for the environment's own name. `files` are further templates.
    """

    description: str
    data: str
    reward: str
    exports: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    about: str = ""
    examples: int = 100
    has_seed: bool = True
    in_v0: bool = False


_SEED = "| `seed` | 0 | other seeds give other examples |"
_SUMS = "sums made locally from a seed"
_KINDS = {
    TemplateKind.SINGLE_TURN: _Kind(
        "Add two numbers", _SUMS, "1 when the reply is the sum", in_v0=True
    ),
    TemplateKind.MULTI_TURN: _Kind(
        "Add numbers over several turns",
        _SUMS,
        "the share of turns whose reply is the running sum",
        exports=("{}Env", "oracle"),
        about="`{}Env` plays the user: it decides what is said next, from what the model replied.",
        in_v0=True,
    ),
    TemplateKind.TOOL: _Kind(
        "Add two numbers with a tool",
        _SUMS,
        "1 when the last reply is the sum",
        exports=("oracle",),
        files=("tools",),
        about="`{}Tools` is an MCP server: verifiers starts one for all rollouts.",
        in_v0=True,
    ),
    TemplateKind.CODE: _Kind(
        "Write a function that passes its cases",
        "functions made locally from a seed",
        "1 when the code passes all cases",
        files=("sandbox",),
        requires=("prime-sandboxes>=0.2.6",),
        about="The model's code runs in a sandbox: on this machine with bubblewrap or an engine "
        "(`prime doctor` names it), or in Prime's cloud.",
    ),
    TemplateKind.JUDGE: _Kind(
        "Summarize a text; another model judges the summary",
        "texts of the module",
        "1 when the summary is the expected one, or the judge accepts it",
        about="The judge is asked only about other summaries than the expected ones. Choose it "
        "with `--env.taskset.task.judge.model gpt-4.1-mini`; the run's own model needs no other "
        "key.",
        examples=10,
        has_seed=False,
    ),
    TemplateKind.TWO_PLAYERS: _Kind(
        "Guess the word that another player describes",
        "words of the module, in an order made from a seed",
        "1 for both players when the guesser names the word",
        exports=("{}Env", "oracle"),
        about="The `guesser` trains, the `describer` does not: see `{}Env.setup`.",
        examples=12,
    ),
}


def plan_scaffold(
    name: str,
    folder: Path,
    *,
    kind: TemplateKind = TemplateKind.SINGLE_TURN,
    v0: bool = False,
    multi_file: bool = False,
) -> Scaffold:
    """The files of a new project `name` in `folder`/<module>; nothing is written.

    Raises UsageError for a name that cannot be a package, or for a kind without a v0 template.
    """
    module = _module_of(name)
    about = _KINDS[kind]
    if v0 and not about.in_v0:
        raise UsageError(f"There is no v0 template `{kind}`", hint="omit `--v0`")
    source = "taskset" if not v0 else ("environment" if multi_file else None)
    values = _values(name, module, kind, v0=v0, source=source)
    generation = "v0" if v0 else "v1"
    tests = "v0/test.py" if v0 else f"v1/test_{kind.template}.py"
    files = {
        "pyproject.toml": _fill("pyproject.toml", values),
        README: _fill(README, values),
        AGENTS: _fill(AGENTS, values),
        f"tests/test_{module}.py": _fill(tests, values),
    }
    body = _fill(f"{generation}/{kind.template}.py", values)
    if source is None:
        files[f"{module}.py"] = body
        return Scaffold(name=name, module=module, root=folder / module, files=files)
    files[f"{module}/__init__.py"] = _package_init(module, source, kind, values, v0=v0)
    files[f"{module}/{source}.py"] = body
    for each in about.files if not v0 else ():
        files[f"{module}/{each}.py"] = _fill(f"v1/{each}.py", values)
    return Scaffold(name=name, module=module, root=folder / module, files=files)


def only_readme(scaffold: Scaffold) -> Scaffold:
    """The scaffold of a project that is there already and wants a new README.md."""
    return replace(scaffold, files={README: scaffold.files[README]})


def write_scaffold(scaffold: Scaffold, *, force: bool = False) -> list[Path]:
    """Write the files, all or no new one.

    Raises Conflict, before any is written, when one exists and not `force`; StorageFailed.
    """
    paths = {scaffold.root / relative: text for relative, text in scaffold.files.items()}
    existing = [path for path in paths if path.exists()]
    if existing and not force:
        raise Conflict(
            f"{existing[0]} exists already",
            hint="choose another name or `--path`, or overwrite with `--force`",
            detail="\n".join(str(path) for path in existing),
        )
    made: list[Path] = []
    try:
        for path, text in paths.items():
            _write(path, text)
            made.append(path)
    except StorageFailed:
        for path in made:
            if path not in existing:
                path.unlink()
        raise
    return made


def _write(path: Path, text: str) -> None:
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode(), mode=0o666)


def _module_of(name: str) -> str:
    module = module_name(name)
    if not _NAME.fullmatch(name) or not module.isidentifier() or keyword.iskeyword(module):
        raise UsageError(
            f"`{name}` is not a valid environment name",
            hint="use letters, digits and hyphens, starting with a letter, such as `my-env`",
        )
    if module in sys.stdlib_module_names:
        raise UsageError(
            f"`{name}` would be hidden by Python's own module `{module}`",
            hint=f"choose another name, such as `{name}-env`",
        )
    if module == "tests" or may_come_with_verifiers(module):
        raise UsageError(
            f"`{name}` would hide the package `{module}` that environments import",
            hint=f"choose another name, such as `{name}-env`",
        )
    return module


def _values(
    name: str, module: str, kind: TemplateKind, *, v0: bool, source: str | None
) -> dict[str, str]:
    about = _KINDS[kind]
    title = "".join(part.capitalize() for part in module.split("_") if part)
    requires = [V0_VERIFIERS] if v0 else [V1_VERIFIERS, *about.requires]
    return {
        "name": name,
        "module": module,
        "Title": title,
        "description": about.description,
        "data": about.data,
        "reward": about.reward,
        "examples": str(about.examples),
        "seed": f"\n{_SEED}" if about.has_seed else "",
        "about": f"\n{about.about.format(title)}\n" if about.about and not v0 else "",
        "python": ">=3.11,<3.14" if v0 else ">=3.11",
        "dependencies": ", ".join(f'"{each}"' for each in requires),
        "tags": ", ".join(f'"{tag}"' for tag in [kind.value, *([] if v0 else ["v1"])]),
        "wheel": f'packages = ["{module}"]' if source else f'include = ["{module}.py"]',
        "import_path": f"{module}.{source}" if source else module,
        "where": f"{module}/{source}.py" if source else f"{module}.py",
    }


def _package_init(
    module: str, source: str, kind: TemplateKind, values: dict[str, str], *, v0: bool
) -> str:
    if v0:
        has_oracle = kind is not TemplateKind.SINGLE_TURN
        names, harness = ["load_environment", *(["oracle"] if has_oracle else [])], ""
    else:
        title = values["Title"]
        names = [f"{title}Taskset", *(each.format(title) for each in _KINDS[kind].exports)]
        # A chat without tools, where verifiers would let the model run commands in a sandbox.
        harness = "from verifiers.v1.harnesses.null import NullHarness\n\n"
    listed = ", ".join(
        f'"{name}"' for name in sorted([*names, *(["NullHarness"] if harness else [])])
    )
    return (
        f'"""{values["description"]}."""\n\n{harness}'
        f"from {module}.{source} import {', '.join(sorted(names))}\n\n__all__ = [{listed}]\n"
    )


def _fill(template: str, values: dict[str, str]) -> str:
    file = resources.files("prime_cli.envs.project") / "templates" / f"{template}.tmpl"
    return Template(file.read_text(encoding="utf-8")).substitute(values)

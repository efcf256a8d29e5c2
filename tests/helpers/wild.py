"""Environment packages in the shapes that are found in the wild, written into a folder.

None of them is a copy of a published package: each is the smallest one that has the shape.
"""

import base64
import hashlib
import re
import textwrap
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SINGLE_TURN = '''
"""A tiny environment."""
import verifiers as vf
from datasets import Dataset


def load_environment(num_examples: int = 4, **kwargs):
    rows = [{"question": f"Say {i}", "answer": str(i)} for i in range(num_examples)]
    data = Dataset.from_list(rows)
    parser = vf.Parser()

    def right(completion, answer, **kwargs):
        return float((parser.parse_answer(completion) or "").strip() == answer)

    rubric = vf.Rubric(funcs=[right], parser=parser)
    return vf.SingleTurnEnv(dataset=data, eval_dataset=data, parser=parser, rubric=rubric)
'''

TOOL_RUBRIC = SINGLE_TURN.replace(
    "def load_environment",
    'RUBRIC = vf.ToolRubric(tools=[])\n"""Gone after 0.1.5."""\n\n\ndef load_environment',
)

OLD_MULTI_TURN = '''
"""A conversation in the API of verifiers up to 0.1.7."""
import verifiers as vf
from datasets import Dataset


class Talk(vf.MultiTurnEnv):
    async def is_completed(self, messages, state, **kwargs):
        return state["turn"] >= 2

    async def env_response(self, messages, state, **kwargs):
        return [{"role": "user", "content": "Go on"}], state


def load_environment(**kwargs):
    data = Dataset.from_list([{"question": "Say a", "answer": "a"}])
    return Talk(dataset=data, eval_dataset=data, rubric=vf.Rubric(funcs=[lambda **k: 1.0]))
'''

STOP_DECORATOR = '''
"""A conversation in the API of verifiers from 0.1.8 on."""
import verifiers as vf
from datasets import Dataset


class Talk(vf.MultiTurnEnv):
    @vf.stop
    async def enough(self, state):
        return len(state["trajectory"]) >= 2

    async def env_response(self, messages, state, **kwargs):
        return [{"role": "user", "content": "Go on"}]


def one(completion, **kwargs):
    return 1.0


def load_environment(**kwargs):
    data = Dataset.from_list([{"question": "Say a", "answer": "a"}])
    return Talk(dataset=data, eval_dataset=data, rubric=vf.Rubric(funcs=[one]))
'''

TASKSET = '''
"""A tiny v1 taskset."""
import verifiers.v1 as vf


class TinyData(vf.TaskData):
    answer: str


class TinyTask(vf.Task[TinyData]):
    @vf.reward(weight=1.0)
    async def right(self, trace: vf.Trace) -> float:
        return float(trace.last_reply == self.data.answer)


class TinyConfig(vf.TasksetConfig):
    num_examples: int = 4


class TinyTaskset(vf.Taskset[TinyTask, TinyConfig]):
    def load(self):
        for i in range(self.config.num_examples):
            data = TinyData(prompt=f"Say {i}", answer=str(i))
            yield TinyTask(data, self.config.task)


__all__ = ["TinyTaskset"]
'''

EARLY_V1 = '''
"""The v1 of verifiers 0.1.14, whose `Env` is made as it is; it is abstract from 0.2 on."""
import verifiers.v1 as vf


async def right(task, state):
    return float(state["completion"][-1]["content"].strip() == task["answer"])


def rows():
    return [{"prompt": [{"role": "user", "content": "Say a"}], "answer": "a"}]


def load_environment():
    return vf.Env(taskset=vf.Taskset(source=rows, rewards=[right]))
'''

ASKS_FOR_INPUT = SINGLE_TURN.replace(
    "    data = Dataset.from_list(rows)\n",
    "    data = Dataset.from_list(rows)\n    input('Your key: ')\n",
)

REQUIRED_ARGUMENTS = SINGLE_TURN.replace(
    "num_examples: int = 4, **kwargs", "language, level: int = 1, *, num_examples: int = 4"
)

RAISES_AT_IMPORT = 'raise RuntimeError("this module cannot be imported")\n'

NO_ENTRY_POINT = '"""A package that is not an environment."""\n\n\ndef helper():\n    return 1\n'

BACKENDS: Mapping[str, tuple[str, str]] = {
    "hatchling": ("hatchling", "hatchling.build"),
    "setuptools": ("setuptools>=77", "setuptools.build_meta"),
    "flit": ("flit_core>=3.11", "flit_core.buildapi"),
    "poetry": ("poetry-core>=2", "poetry.core.masonry.api"),
    "uv_build": ("uv_build>=0.9,<1", "uv_build"),
}
"""Name -> (requirement, build-backend) of the PEP 517 backends that environments use."""


@dataclass(frozen=True)
class Shape:
    """What a project is to look like; `files` are extra texts by path, None leaves one out."""

    name: str = "tiny-env"
    module: str = "tiny_env"
    body: str = SINGLE_TURN
    version: str | None = "0.1.0"
    dependencies: tuple[str, ...] = ("verifiers",)
    requires_python: str = ">=3.11"
    backend: str | None = "hatchling"
    layout: str = "module"
    readme: bool = True
    tags: tuple[str, ...] = ("test",)
    project: str = ""
    tables: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def write_project(folder: Path, shape: Shape = Shape()) -> Path:
    """Write the project into `folder` and return it; `layout` is module, package or src."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"pyproject.toml": pyproject(shape), _source_path(shape): shape.body.lstrip()}
    if shape.readme:
        texts["README.md"] = f"# {shape.name}\n\nA tiny environment.\n"
    for path, text in {**texts, **shape.files}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder


def pyproject(shape: Shape) -> str:
    """The pyproject.toml of a shape."""
    lines = ["[project]", f'name = "{shape.name}"']
    lines.append(
        'dynamic = ["version"]' if shape.version is None else f'version = "{shape.version}"'
    )
    lines += ['description = "A tiny environment"', f'requires-python = "{shape.requires_python}"']
    lines.append(f"dependencies = {_array(shape.dependencies)}")
    if shape.readme:
        lines.append('readme = "README.md"')
    if shape.tags and shape.backend not in ("setuptools", "flit", "poetry", "uv_build", None):
        lines.append(f"tags = {_array(shape.tags)}")
    if shape.project:
        lines.append(textwrap.dedent(shape.project).strip())
    if shape.backend is not None:
        requirement, backend = BACKENDS[shape.backend]
        lines += [
            "",
            "[build-system]",
            f'requires = ["{requirement}"]',
            f'build-backend = "{backend}"',
        ]
    lines += ["", _backend_table(shape)]
    if shape.tables:
        lines += ["", textwrap.dedent(shape.tables).strip()]
    return "\n".join(lines) + "\n"


def write_wheel(
    folder: Path,
    files: Mapping[str, str],
    *,
    name: str = "tiny_env",
    version: str = "0.1.0",
    requires: tuple[str, ...] = ("verifiers",),
    requires_python: str = ">=3.11",
    member_prefix: str = "",
    metadata: str = "",
) -> Path:
    """A pure wheel made by hand from `files`; `member_prefix` is put before every member's name."""
    info = f"{name}-{version}.dist-info"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    head += f"Requires-Python: {requires_python}\n" if requires_python else ""
    head += "".join(f"Requires-Dist: {item}\n" for item in requires)
    extras = dict.fromkeys(re.findall(r"extra == '([^']+)'", " ".join(requires)))
    head += "".join(f"Provides-Extra: {extra}\n" for extra in extras)
    members = {
        **files,
        f"{info}/METADATA": head + metadata + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: wild\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    record = "".join(
        f"{path},{_record_hash(text)},{len(text.encode())}\n" for path, text in members.items()
    )
    members[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in members.items():
            entry = zipfile.ZipInfo(member_prefix + path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text)
    return wheel


def _record_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _source_path(shape: Shape) -> str:
    match shape.layout:
        case "package":
            return f"{shape.module}/__init__.py"
        case "src":
            return f"src/{shape.module}/__init__.py"
        case _:
            return f"{shape.module}.py"


def _backend_table(shape: Shape) -> str:
    """What the backend needs to find this layout, where its own rules do not."""
    match (shape.backend, shape.layout):
        case ("hatchling", "module"):
            table = f'[tool.hatch.build.targets.wheel]\ninclude = ["{shape.module}.py"]'
        case ("hatchling", "package"):
            table = f'[tool.hatch.build.targets.wheel]\npackages = ["{shape.module}"]'
        case ("hatchling", _):
            table = f'[tool.hatch.build.targets.wheel]\npackages = ["src/{shape.module}"]'
        case ("setuptools", "module"):
            table = f'[tool.setuptools]\npy-modules = ["{shape.module}"]'
        case ("flit", _):
            table = f'[tool.flit.module]\nname = "{shape.module}"'
        case ("poetry", "module"):
            table = f'[tool.poetry]\npackages = [{{ include = "{shape.module}.py" }}]'
        case ("uv_build", "package"):
            table = f'[tool.uv.build-backend]\nmodule-name = "{shape.module}"\nmodule-root = ""'
        case _:
            table = ""
    if shape.version is None and shape.backend == "hatchling":
        table += f'\n\n[tool.hatch.version]\npath = "{_source_path(shape)}"'
    return table


def _array(items: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"


WILD: Mapping[str, Shape] = {
    "capitals": Shape(name="BigBench-BBH", module="bigbench_bbh"),
    "folder-differs": Shape(name="tau-bench-env", module="tau_bench", layout="package"),
    "root-files": Shape(
        name="root-files",
        module="root_files",
        tables="""
            [tool.hatch.build.targets.wheel.force-include]
            "pyproject.toml" = "pyproject.toml"
            "README.md" = "README.md"
        """,
    ),
    "uv-sources": Shape(
        dependencies=("verifiers>=0.1.3", "six"),
        tables="""
            [tool.uv.sources]
            six = { url = "https://files.invalid/six-1.16.0-py2.py3-none-any.whl" }
        """,
    ),
    "direct-url": Shape(
        dependencies=(
            "verifiers>=0.1.3",
            "six @ https://files.invalid/six-1.16.0-py3-none-any.whl",
        ),
        tables="[tool.hatch.metadata]\nallow-direct-references = true",
    ),
    "extras": Shape(dependencies=("verifiers[ta]>=0.1.14,<0.4",)),
    "bare": Shape(readme=False, tags=()),
    "entry-points": Shape(
        project="""
            [project.entry-points."verifiers.environments"]
            tiny-env = "tiny_env:load_environment"
        """
    ),
    "eval-defaults": Shape(
        tables="""
            [tool.verifiers.eval]
            num_examples = -1
            rollouts_per_example = 2
            max_tokens = 64
            temperature = 0.5
        """
    ),
    "required-arguments": Shape(body=REQUIRED_ARGUMENTS),
    "other-content": Shape(body=SINGLE_TURN.replace("Say {i}", "Tell {i}")),
    "files-left-out": Shape(
        layout="package",
        body="from tiny_env.parts import load_environment\n",
        files={"tiny_env/parts.py": SINGLE_TURN},
        tables='exclude = ["tiny_env/parts.py"]',
    ),
    "tool-rubric": Shape(body=TOOL_RUBRIC),
    "old-multi-turn": Shape(body=OLD_MULTI_TURN),
    "stop-decorator": Shape(body=STOP_DECORATOR),
    "v1": Shape(body=TASKSET, layout="package", dependencies=("verifiers",)),
    "no-verifiers": Shape(dependencies=()),
    "narrow-python": Shape(requires_python=">=3.12,<3.13"),
    "src": Shape(layout="src"),
    "dynamic-version": Shape(version=None, body='__version__ = "0.3.0"\n' + SINGLE_TURN.lstrip()),
    "data-files": Shape(layout="package", files={"tiny_env/data/words.txt": "one\ntwo\n"}),
    "not-an-environment": Shape(body=NO_ENTRY_POINT),
}
"""The shapes by name; every one is a project that `write_project` writes."""

"""What the source of an environment shows without running it: required keys, model clients."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from prime_cli.core.archive.wheels import open_wheel
from prime_cli.core.formatting import first_few
from prime_cli.core.progress import Progress
from prime_cli.models.prices import Budget
from prime_cli.runs.plan import EvalPlan

_LARGEST = 1024 * 1024
_MOST_NAMED = 3
_GATEWAYS = frozenset({"OPENAI_BASE_URL"})
"""Variables that hold the gateway's address in an environment's process."""

_WITH_ADDRESS = frozenset({"openai.OpenAI", "openai.AsyncOpenAI"})
"""Constructors of clients that do not use the gateway if they get another address."""

_ALWAYS = (
    "openai.AzureOpenAI", "openai.AsyncAzureOpenAI", "anthropic.Anthropic",
    "anthropic.AsyncAnthropic", "anthropic.AnthropicBedrock", "anthropic.AsyncAnthropicBedrock",
    "anthropic.AnthropicVertex", "anthropic.AsyncAnthropicVertex", "litellm.completion",
    "litellm.acompletion", "litellm.responses", "litellm.aresponses", "litellm.Router",
    "google.genai.Client", "google.generativeai.GenerativeModel", "groq.Groq", "groq.AsyncGroq",
    "together.Together", "together.AsyncTogether", "mistralai.Mistral", "cohere.Client",
    "cohere.AsyncClient", "cohere.ClientV2", "cohere.AsyncClientV2", "fireworks.client.Fireworks",
    "replicate.run", "replicate.Client", "huggingface_hub.InferenceClient",
    "huggingface_hub.AsyncInferenceClient",
)  # fmt: skip
_PATHS = ("/chat/completions", "/v1/messages", "/v1/responses", ":generateContent")
"""Ends of the addresses of model APIs, for code that calls them by plain HTTP."""


@dataclass(frozen=True)
class OwnClient:
    """Where a client is built: `AsyncOpenAI` in line 12 of `judge.py`, or an address that is
    called.
    """

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"`{self.name}` in {self.file}:{self.line}"


def warn_of_uncounted(
    plan: EvalPlan, wheel: Path, budget: Budget | None, progress: Progress
) -> None:
    """If there is a cap, warn of calls of the environment that it may not count."""
    capped = budget is not None or plan.max_cost is not None or plan.token_budget is not None
    closed = plan.only_gateway or (plan.sandbox and not plan.allow_net)
    if not capped or closed:
        return
    found = own_clients(wheel)
    if found:
        named = first_few(found, _MOST_NAMED)
        progress.warn(
            f"The environment creates its own clients, whose calls no cap counts: {named}",
            hint="refuse such calls with `--only-gateway`",
        )


def own_clients(wheel: Path) -> tuple[OwnClient, ...]:
    """The clients that modules of `wheel` build, by file and line."""
    found: list[OwnClient] = []
    with open_wheel(wheel) as opened:
        for name, source in opened.modules(largest=_LARGEST):
            found += sorted(clients_in(name, source), key=lambda each: each.line)
    return tuple(found)


def clients_in(file: str, source: str) -> Iterator[OwnClient]:
    """The clients that one module builds; none if it is not Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    imported = imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted_name(node.func, imported)
            if name in _ALWAYS or (name in _WITH_ADDRESS and _has_own_address(node)):
                yield OwnClient(file, node.lineno, name.rpartition(".")[2])
        elif isinstance(node, ast.Constant) and _is_address(node.value):
            yield OwnClient(file, node.lineno, node.value)


def imported_names(tree: ast.Module) -> dict[str, str]:
    """{name in the module: what it stands for, with its module}."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                first = each.name.partition(".")[0]
                found[each.asname or first] = each.name if each.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return found


def dotted_name(node: ast.expr, imported: Mapping[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        before = dotted_name(node.value, imported)
        return f"{before}.{node.attr}" if before else ""
    return imported.get(node.id, "") if isinstance(node, ast.Name) else ""


def _has_own_address(call: ast.Call) -> bool:
    given = next((each.value for each in call.keywords if each.arg == "base_url"), None)
    if given is None or (isinstance(given, ast.Constant) and given.value is None):
        return False
    names = {each.value for each in ast.walk(given) if isinstance(each, ast.Constant)}
    return not names & _GATEWAYS


def _is_address(value: object) -> TypeGuard[str]:
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        return False
    return "\n" not in value and value.partition("?")[0].endswith(_PATHS)


_CALL = "ensure_keys"


def declared_keys(wheel: Path) -> tuple[str, ...]:
    """The variables that the modules of `wheel` pass to `ensure_keys`; no code is run."""
    found: dict[str, None] = {}
    with open_wheel(wheel) as opened:
        for _, source in opened.modules(largest=_LARGEST):
            if _CALL in source:
                found.update(dict.fromkeys(_keys_in(source)))
    return tuple(found)


def _keys_in(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name_of(node.func) == _CALL:
            for constant in (each for given in node.args for each in ast.walk(given)):
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                    yield constant.value


def _name_of(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


_SANDBOXED = frozenset({"SandboxEnv", "PythonEnv"})
_WITH_TUNNEL = frozenset({"CliAgentEnv", "HarborEnv", "OpenCodeEnv", "RLMEnv"})
_REQUESTS = frozenset({"CreateSandboxRequest"})
_USES = _SANDBOXED | _WITH_TUNNEL | _REQUESTS


@dataclass(frozen=True)
class SandboxUse:
    """What code shows of its sandboxes: `images` that it names, and what `needs_tunnel`.

    `has_default`: some may be of the default image.
    """

    images: tuple[str, ...] = ()
    needs_tunnel: tuple[str, ...] = ()
    has_default: bool = False


def sandbox_use(wheel: Path) -> SandboxUse | None:
    """What the modules of `wheel` show of their sandboxes; None if they ask for none."""
    images, names = dict[str, None](), set[str]()
    with open_wheel(wheel) as opened:
        for _, source in opened.modules(largest=_LARGEST):
            if any(word in source for word in _USES):
                found, used = _sandboxes_in(source)
                images.update(dict.fromkeys(found))
                names |= used
    if not names:
        return None
    tunnels = tuple(sorted(names & _WITH_TUNNEL))
    return SandboxUse(tuple(images), tunnels, has_default=bool(names & _SANDBOXED) and not images)


def _sandboxes_in(source: str) -> tuple[list[str], set[str]]:
    """The images that a module names, and the names by which it asks for sandboxes."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return [], set()
    imported = imported_names(tree)
    dotted = {
        dotted_name(node, imported)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    }
    libraries = ("verifiers.", "prime_sandboxes.")
    names = {name.rpartition(".")[2] for name in dotted if name.startswith(libraries)} & _USES
    given = [
        word.value
        for node in ast.walk(tree)
        for word in (node.keywords if isinstance(node, ast.Call) else ())
        if word.arg == "docker_image"
    ]
    texts = [each.value for each in given if isinstance(each, ast.Constant)]
    return [text for text in texts if isinstance(text, str)] if names else [], names

"""What the source of an environment shows that harms its rewards, by file and line."""

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath

from prime_cli.core.archive.wheels import open_wheel
from prime_cli.evals.planning.source_scan import dotted_name, imported_names
from prime_cli.wire.check_reports import SourceFinding

_LARGEST = 1024 * 1024
_RANDOM = ("random.", "numpy.random.")
_SEEDED = ("random.Random", "random.SystemRandom", "numpy.random.default_rng")
_SEEDS = ("random.seed", "numpy.random.seed")
_NETWORK = (
    "requests.", "httpx.", "httpx2.", "aiohttp.", "urllib.request.", "socket.", "http.client.",
)  # fmt: skip
_EFFECTS = (
    "subprocess.", "os.system", "os.popen", "os.remove", "os.unlink", "os.rmdir", "shutil.rmtree",
)  # fmt: skip
_WRITES = frozenset({"write_text", "write_bytes", "unlink", "rmdir", "mkdir"})
_READS = ("datasets.load_dataset", "pandas.read_csv", "pandas.read_json", "pandas.read_parquet")
_DATA = frozenset(
    {".json", ".jsonl", ".csv", ".tsv", ".txt", ".parquet", ".yaml", ".yml", ".arrow"}
)
_ANSWERS = frozenset({"completion", "answer", "trace"})
"""Parameters of what looks like a reward function."""

_CALLED = frozenset({"create", "acompletion", "completion"})
_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})


def scan_source(wheel: Path, rules: Collection[tuple[str, int]]) -> list[SourceFinding]:
    """What the modules of `wheel` show; `rules` are the file and line of its reward functions."""
    found: list[SourceFinding] = []
    with open_wheel(wheel) as opened:
        files = {PurePosixPath(name).name for name in opened.members}
        for name, source in opened.modules(largest=_LARGEST):
            lines = {line for file, line in rules if file == name}
            found += sorted(findings_in(name, source, lines, files), key=lambda each: each.line)
    return found


def findings_in(
    file: str, source: str, rules: Collection[int], files: Collection[str]
) -> Iterator[SourceFinding]:
    """The same of one module, with the lines of its reward functions; none if it is not Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    imported = imported_names(tree)
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    names = {id(each): dotted_name(each.func, imported) for each in calls}

    def found(rule: str, node: ast.AST, sentence: str) -> SourceFinding:
        return SourceFinding(rule, file[-200:], getattr(node, "lineno", 0), sentence)

    seeded = any(name in _SEEDS for name in names.values())
    for call in calls:
        name = names[id(call)]
        for rule, words in _in_call(call, name, files, seeded=seeded):
            yield found(rule, call, words)
    for node in (each for each in _at_import(tree) if names.get(id(each), "") in _READS):
        words = "It reads its data when it is imported, not when it is loaded"
        yield found("data-at-import", node, words)
    for function in _rewards(tree, rules):
        for rule, node, words in _in_reward(function, names):
            yield found(rule, node, words)


def _in_call(
    call: ast.Call, name: str, files: Collection[str], *, seeded: bool
) -> Iterator[tuple[str, str]]:
    if name.startswith(_RANDOM) and not seeded and not _has_seed(call, name):
        yield "unseeded-random", f"`{name}` draws without a seed, so that no two runs are the same"
    if _evaluates(call):
        yield "eval", "`eval` or `exec` runs what a text says, which may be an answer"
    if _asks_model(call):
        yield "no-max-tokens", "It asks a model without `max_tokens`"
    if missing := _missing_file(call, name, files):
        yield "missing-file", f"It reads `{missing}`, which the wheel does not have"


def _in_reward(function: ast.AST, names: Mapping[int, str]) -> Iterator[tuple[str, ast.AST, str]]:
    for node in ast.walk(function):
        name = names.get(id(node), "")
        if isinstance(node, ast.Call) and name.startswith(_NETWORK):
            yield "reward-network", node, f"A reward calls `{name}`: it depends on a network"
        elif isinstance(node, ast.Call) and (name.startswith(_EFFECTS) or _writes(node)):
            words = "A reward changes what is outside of it: attack it with `--sandbox`"
            yield "reward-side-effect", node, words
        elif isinstance(node, ast.Compare) and _compares_floats(node):
            yield "float-equality", node, "A reward compares floats with `==`"
        elif isinstance(node, ast.ExceptHandler) and _swallows(node):
            words = "A reward swallows every exception, its own mistakes too"
            yield "swallowed-exception", node, words


def _rewards(tree: ast.Module, rules: Collection[int]) -> Iterator[ast.AST]:
    """The functions at the lines of `rules`, else those that look like rewards."""
    every = [
        each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    known = [
        each
        for each in every
        if {each.lineno, *(word.lineno for word in each.decorator_list)} & set(rules)
    ]
    yield from known or (each for each in every if _ANSWERS & {a.arg for a in each.args.args})


def _has_seed(call: ast.Call, name: str) -> bool:
    if name == "numpy.random.default_rng" or name in _SEEDED:
        return bool(call.args or call.keywords) or name == "random.SystemRandom"
    return False


def _evaluates(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Name) and call.func.id in ("eval", "exec")
    return named and bool(call.args) and not isinstance(call.args[0], ast.Constant)


def _asks_model(call: ast.Call) -> bool:
    words = {each.arg for each in call.keywords}
    called = isinstance(call.func, ast.Attribute) and call.func.attr in _CALLED
    whole = None not in words  # `**options` may hold a limit
    return called and {"model", "messages"} <= words and whole and not words & _LIMITS


def _missing_file(call: ast.Call, name: str, files: Collection[str]) -> str | None:
    """The file of data that a call opens for reading and that is not in the wheel."""
    opens = (isinstance(call.func, ast.Name) and call.func.id == "open") or name in _READS[1:]
    first = call.args[0] if call.args else None
    if not opens or not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return None
    path = PurePosixPath(first.value)
    mode = (
        call.args[1].value if len(call.args) > 1 and isinstance(call.args[1], ast.Constant) else "r"
    )
    reads = isinstance(mode, str) and "r" in mode
    if not reads or path.suffix not in _DATA or "://" in first.value or path.name in files:
        return None
    return first.value[:100]


def _writes(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _WRITES
    mode = call.args[1] if len(call.args) > 1 else None
    opens = isinstance(call.func, ast.Name) and call.func.id == "open"
    given = mode.value if isinstance(mode, ast.Constant) else ""
    return opens and isinstance(given, str) and bool(set("wax+") & set(given))


def _compares_floats(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    equal = any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
    return equal and any(map(_is_float, sides))


def _is_float(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "float"
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div)
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _swallows(node: ast.ExceptHandler) -> bool:
    caught = node.type.id if isinstance(node.type, ast.Name) else None
    broad = node.type is None or caught in ("Exception", "BaseException")
    tells = any(isinstance(each, ast.Raise) for each in ast.walk(node)) or node.name is not None
    return broad and not tells


def _at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """What runs when a module is imported: everything outside of functions."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            waiting += ast.iter_child_nodes(node)

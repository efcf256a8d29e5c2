"""Print how large the project is, and fail for what is over its budget: `python .ci/size.py`.

Code lines are those without comments, docstrings and blank lines; of templates, scripts and style
sheets, those that are not blank. A budget only ever goes down.
"""

import ast
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGETS = {
    "code lines of prime_cli": 115630,
    "files of prime_cli": 931,
    "rooms of prime_cli": 16,
    "modules with one importer": 160,
    "lines of the longest file": 400,
    "code lines of tests": 96_186,
    "words of docs": 50_031,
}
_OTHER_CODE = (".html", ".js", ".css", ".toml", ".txt", ".tmpl")
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def main() -> int:
    sizes = measure()
    over = [name for name, size in sizes.items() if size > BUDGETS[name]]
    for name, size in sizes.items():
        print(f"{name:<26} {size:7,} of {BUDGETS[name]:7,}{' OVER' * (name in over)}")
    return len(over)


def measure() -> dict[str, int]:
    package = ROOT / "prime_cli"
    modules = sorted(package.rglob("*.py"))
    others = [each for each in package.rglob("*") if each.suffix in _OTHER_CODE]
    docs = [each for each in (ROOT / "docs").rglob("*.md") if each.name != "commands.md"]
    return dict(
        zip(
            BUDGETS,
            (
                sum(map(count_code, modules)) + sum(map(count_filled, others)),
                len(modules),
                len(
                    {
                        each.relative_to(package).parts[0]
                        for each in modules
                        if each.parent != package
                    }
                ),
                sum(count == 1 for count in count_importers(modules).values()),
                max(len(read(each).splitlines()) for each in modules),
                sum(map(count_code, (ROOT / "tests").rglob("*.py"))),
                sum(len(read(each).split()) for each in docs),
            ),
            strict=True,
        )
    )


def count_code(path: Path) -> int:
    """The lines of a Python file that have code."""
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in _NO_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
    for start, end in find_docstrings(ast.parse(read(path))):
        lines.difference_update(range(start, end + 1))
    return len(lines)


def find_docstrings(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The first and last line of each, and of texts below assignments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.body:
                match each:
                    case ast.Expr(ast.Constant(str())):
                        yield each.lineno, each.end_lineno or each.lineno


def count_filled(path: Path) -> int:
    return sum(bool(line.strip()) for line in read(path).splitlines())


def count_importers(modules: list[Path]) -> Counter[str]:
    """How many other modules of the package import each that any imports."""
    names = {".".join(each.relative_to(ROOT).with_suffix("").parts): each for each in modules}
    found: Counter[str] = Counter()
    for name, path in names.items():
        imported = set(
            re.findall(r"^\s*(?:from|import) (prime_cli[\w.]*)", read(path), re.MULTILINE)
        )
        for package, listed in re.findall(
            r"^\s*from (prime_cli[\w.]*) import ([\w, ]+)", read(path), re.MULTILINE
        ):
            imported |= {f"{package}.{each.split(' as ')[0].strip()}" for each in listed.split(",")}
        found.update((imported & names.keys()) - {name})
    return found


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(min(main(), 1))

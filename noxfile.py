"""Tasks of a contributor: `nox -l` lists them, `nox -s lint` runs one.

They run in the active virtual environment, which CONTRIBUTING.md sets up; only `lowest` installs
packages, into a virtual environment of its own.
"""

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "test"]


@nox.session
def test(session: nox.Session) -> None:
    """Run the default test suite, or what follows `--`: `nox -s test -- tests/wire`."""
    session.run("pytest", "-q", *(session.posargs or ["-n", "auto", "--dist", "worksteal"]))


@nox.session(venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """Run the default tests on the oldest releases that pyproject.toml allows, in an own venv."""
    session.install("--resolution", "lowest-direct", "-e", ".[dev]")
    # Old releases use what newer neighbours have deprecated since.
    words = session.posargs or ["-n", "auto", "--dist", "worksteal"]
    session.run("pytest", "-q", "-W", "default::DeprecationWarning", *words)


@nox.session
def audit(session: nox.Session) -> None:
    """Look up known vulnerabilities of the oldest and newest releases allowed; asks osv.dev."""
    for resolution in ("lowest-direct", "highest"):
        session.run("uv", "audit", "--resolution", resolution)


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure which lines the default tests run, or those that follow `--`; by room."""
    words = session.posargs or ["-n", "auto", "--dist", "worksteal"]
    session.run("pytest", "-q", "--cov", "--cov-report=", *words)
    session.run("python", ".ci/rooms.py")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format, layers, unused code and the budgets of size."""
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports")
    session.run("python", ".ci/unused.py")
    session.run("python", ".ci/size.py")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, as Linux, macOS and Windows see the code."""
    session.run("mypy")
    for platform in ("darwin", "win32"):
        session.run("mypy", "--platform", platform, "--no-warn-unreachable", "prime_cli")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into site/, and fail on a broken link; needs the extra `docs`."""
    session.run("zensical", "build", "--clean", "--strict")
    session.run("python", ".ci/llms.py")


@nox.session
def regen(session: nox.Session) -> None:
    """Generate pages of docs/, completions/ and man/ from the commands."""
    session.run("python", "-m", "prime_cli.commands.tree")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure startup, or the benchmark that follows `--`: `nox -s bench -- install`."""
    name, *words = session.posargs or ["startup", "7"]
    session.run("python", f"benchmarks/{name}/run.py", *words)


@nox.session
def screenshots(session: nox.Session) -> None:
    """Take README's pictures anew, into docs/images; needs Chromium."""
    session.install("-e", ".[dev]", "pillow")
    session.run("python", "benchmarks/screenshots.py")

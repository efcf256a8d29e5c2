"""Tasks of a contributor: `nox -l` lists them, `nox -s lint` runs one.

They run in the active virtual environment, which CONTRIBUTING.md sets up; nothing is installed.
"""

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "test"]


@nox.session
def test(session: nox.Session) -> None:
    """Run the default test suite, or what follows `--`: `nox -s test -- tests/wire`."""
    session.run("pytest", "-q", *(session.posargs or ["-n", "auto", "--dist", "worksteal"]))


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure which lines the default tests run, or those that follow `--`; by room."""
    words = session.posargs or ["-n", "auto", "--dist", "worksteal"]
    session.run("pytest", "-q", "--cov", "--cov-report=", *words)
    session.run("python", ".ci/rooms.py")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and layers."""
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports")


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


@nox.session
def regen(session: nox.Session) -> None:
    """Generate pages of docs/, completions/ and man/ from the commands."""
    session.run("python", "-m", "prime_cli.commands.tree")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure startup, or the benchmark that follows `--`: `nox -s bench -- install`."""
    name, *words = session.posargs or ["startup", "7"]
    session.run("python", f"benchmarks/{name}/run.py", *words)

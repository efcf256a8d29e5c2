"""`prime skills add`: what a coding agent should know of prime, where it looks for it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from prime_cli import __version__
from prime_cli.commands.base import group, load
from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import local_options, open_session
from prime_cli.core.paths import write_atomically

app = group(
    "Teach coding agents to use prime.",
    {"add": (f"{__name__}:add", "Write a skill where the agents of this project look for it.")},
)

_ANY_AGENT = ".agents"
_AGENTS = (_ANY_AGENT, ".claude", ".cursor", ".gemini", ".opencode")
"""Folders of agents, in a project or a home, that have a folder `skills`; the first is for all."""
_FILE = Path("skills", "prime", "SKILL.md")
_VERSION = re.compile(r'^  version: "(.*)"$', re.MULTILINE)


class AddedSkill(msgspec.Struct, frozen=True):
    """The release of prime that the skill describes, and where it was written."""

    version: str
    files: list[str]


@local_options(answer=AddedSkill, effects=WRITES)
def add(
    ctx: typer.Context,
    dest: Annotated[
        Path | None,
        typer.Option(
            "--dest",
            metavar="DIR",
            help="The folder of skills.",
            show_default="those of the agents found here",
        ),
    ] = None,
) -> None:
    """Write a skill where the agents of this project look for it.

    A skill is a short text that an agent reads when it needs prime. It is written below the working
    directory, into `.agents/skills` and the folder of each agent that is used here. Run it again
    after an update of prime.

    \b
    Example:
      prime skills add
      prime skills add --dest ~/.claude/skills
    \b
    See also: `prime schema`.
    """
    session = open_session(ctx)
    files = [dest.expanduser() / _FILE.relative_to("skills")] if dest else list(_places(Path()))
    text = render_skill()
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode(), mode=0o644)
    names = [str(file) for file in files]
    session.output.done(f"Wrote {', '.join(names)}", value=AddedSkill(__version__, names))


def render_skill() -> str:
    """The skill of this release, at most 4 KB."""
    text = Path(__file__).with_name("skill.md").read_text(encoding="utf-8")
    return text.replace("{version}", __version__).replace("{commands}", _commands())


def find_stale_skill() -> Path | None:
    """A skill in this project that another release of prime has written."""
    for file in _places(Path()):
        if file.is_file():
            found = _VERSION.search(file.read_text(encoding="utf-8", errors="replace"))
            if found is None or found[1] != __version__:
                return file
    return None


def _places(project: Path) -> Iterator[Path]:
    for name in _AGENTS:
        if name == _ANY_AGENT or (project / name).is_dir() or (Path.home() / name).is_dir():
            yield project / name / _FILE


def _commands() -> str:
    """`env: init, build …`, each group with its commands."""
    lines = []
    for name, member in load("prime_cli.commands:app").commands.items():
        if not member.hidden:
            below = getattr(load(member.target), "commands", {})
            words = " ".join(word for word, each in below.items() if not each.hidden)
            lines.append(f"- {name}: {words}" if words else f"- {name}")
    return "\n".join(lines)

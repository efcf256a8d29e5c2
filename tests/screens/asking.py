"""Questions as a person answers them, who may also not answer at all."""

from collections.abc import Callable
from pathlib import Path

from tests.helpers.terminal import Terminal

NOTHING = "No answer, so nothing was done"
CTRL_C, CTRL_D = "\x03", "\x04"
REFUSALS = ("n\n", "\n", "y" * 3000 + " \u6f22\u5b57\n", CTRL_D, CTRL_C)


def decline_then_agree(
    *words: str,
    asked: str,
    kept: str,
    state: Callable[[], object],
    cwd: Path,
    refusals: tuple[str, ...] = REFUSALS,
) -> None:
    """Whatever is no yes leaves `state` as it was and says so; a yes, also when quiet, does not."""
    before = state()
    for keys in refusals:
        shown = answer(*words, asked=asked, keys=keys, cwd=cwd, code=130)
        assert state() == before, keys
        told = "" if keys == CTRL_C else NOTHING if keys.endswith(CTRL_D) else kept
        assert told in _unwrapped(shown), shown
        assert "error" not in shown
    answer(*words, "--quiet", asked=asked, keys="Yes\n", cwd=cwd, code=0)
    assert state() != before


def answer(*words: str, asked: str, keys: str, cwd: Path, code: int) -> str:
    """Type `keys` once `asked` is asked; what the screen, which has to be clean, shows then."""
    with Terminal(*words, cwd=cwd) as terminal:
        terminal.wait_for("[y/N]")
        assert f"{asked} [y/N]" in _unwrapped(terminal.text), terminal.text
        terminal.type(keys)
        assert terminal.end() == code, terminal.text
        assert terminal.is_clean, terminal.text
        assert "Traceback" not in terminal.text
        return terminal.text


def _unwrapped(text: str) -> str:
    """As it was before it was broken into lines."""
    return " ".join(text.split())

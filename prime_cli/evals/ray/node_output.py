"""What nodes say to the user, and what environments print there."""

from prime_cli.core.paths import storage_errors
from prime_cli.evals.execution.setup import RunSetup
from prime_cli.evals.ray.messages import Notice


class NodeOutput:
    """Shows it where the run of `setup` shows its own, and logs printed lines."""

    def __init__(self, setup: RunSetup) -> None:
        self.last_line = ""
        self._setup = setup
        self._shown: set[str] = set()

    def print_line(self, host: str, line: str) -> None:
        """Keep a printed line in the log of the run; raises StorageFailed."""
        self.last_line = line
        context, path = self._setup.context, self._setup.folder.log
        if context.verbose:
            context.progress.say(f"[{self._setup.plan.environment.name}] {line}")
        with storage_errors(path), path.open("ab") as file:
            file.write(self._setup.scrub(f"{host}: {line}\n".encode("utf-8", "replace")))

    def show(self, host: str, notice: Notice) -> None:
        """Show what a node says, once: most of it is the same on all nodes."""
        if not notice.is_warning:
            self.say_once(notice.text)
        elif notice.text not in self._shown:
            self._shown.add(notice.text)
            text = f"The node {host}: {notice.text}"
            self._setup.context.progress.warn(text, hint=notice.hint)

    def say_once(self, text: str) -> None:
        """Say `text`, unless it was said before."""
        if text not in self._shown:
            self._shown.add(text)
            self._setup.context.progress.say(text)

"""Packages whose API moved under releases of verifiers: what old code needs, and how to test it.

verifiers 0.1.14 says `prime-sandboxes>=0.2.21`, but its SandboxEnv gives a text that 0.2.37
refuses; 0.3.1 requires a release that refuses what 0.3.1 itself gives. Read in the wheels in
November 2026.
"""

import ast
from dataclasses import dataclass

from prime_cli.runtime.verifiers_releases import Span


@dataclass(frozen=True)
class MovedPackage:
    """Code that uses `names` of verifiers, or gives a `call` a text in `argument`, needs
    `requirement`, which the releases of verifiers in `span` allow.

    `trial` is Python that raises where the package, imported as `module`, has its later API.
    """

    module: str
    requirement: str
    span: Span
    names: frozenset[str]
    call: str
    argument: str
    trial: str

    def is_needed_by(self, call: ast.Call) -> bool:
        """Whether `call` gives what only the earlier API takes."""
        name = getattr(call.func, "id", getattr(call.func, "attr", None))
        given = {word.arg: word.value for word in call.keywords}.get(self.argument)
        is_text = isinstance(given, ast.Constant) and isinstance(given.value, str)
        return name == self.call and (is_text or isinstance(given, ast.JoinedStr))


MOVED_PACKAGES = (
    MovedPackage(
        module="prime_sandboxes",
        requirement="prime-sandboxes<0.2.37",
        span=Span(last="0.3.0"),
        names=frozenset({"SandboxEnv", "PythonEnv", "CliAgentEnv", "HarborEnv"}),
        call="CreateSandboxRequest",
        argument="start_command",
        trial=(
            "from prime_sandboxes import CreateSandboxRequest\n"
            "CreateSandboxRequest(name='x', docker_image='x', start_command='true')\n"
        ),
    ),
)

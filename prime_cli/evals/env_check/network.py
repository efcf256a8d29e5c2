"""Which hosts an environment connects to, and whether its project declares them.

A project says so in `[tool.prime]` of its pyproject.toml:

[tool.prime]
network = true                 # or the hosts: ["api.example.org"]

[tool.prime.check]
skip = ["echo"]                # checks that do not fit what the environment is about
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prime_cli.core.errors import BadProject
from prime_cli.envs.project.pyproject import FILENAME, get_table, get_texts
from prime_cli.evals.env_check.findings import failed, passed
from prime_cli.evals.env_check.probe_run import ProbeRun
from prime_cli.wire.check_reports import Check


@dataclass(frozen=True)
class Declaration:
    """`hosts` that rollouts may connect to, None for any; `skip` are ids of checks."""

    hosts: tuple[str, ...] | None = ()
    skip: tuple[str, ...] = ()

    def allows(self, host: str) -> bool:
        """Whether rollouts may connect to `host`; a declared host includes its subdomains."""
        if self.hosts is None:
            return True
        return any(host == known or host.endswith(f".{known}") for known in self.hosts)


def read_declaration(pyproject: Mapping[str, Any]) -> Declaration:
    """The declaration in a parsed pyproject.toml; raises BadProject for invalid values."""
    file = Path(FILENAME)
    prime = get_table(get_table(pyproject, "tool", file), "prime", file)
    network = prime.get("network", False)
    hosts = None if network is True else () if network is False else _hosts(prime, file)
    return Declaration(hosts, get_texts(get_table(prime, "check", file), "skip", file))


def _hosts(prime: Mapping[str, Any], file: Path) -> tuple[str, ...]:
    try:
        return get_texts(prime, "network", file)
    except BadProject as error:
        raise BadProject(
            f"`network` of [tool.prime] in {file} must be true, false or a list of hosts"
        ) from error


def check_network(runs: tuple[ProbeRun, ...], declaration: Declaration) -> Check:
    """`network`: rollouts connect only to hosts that `[tool.prime] network` names.

    Connections while the environment loads (for a dataset, say) are reported but not judged.
    """
    loading = _hosts_reached(runs, "load")
    asked = _hosts_reached(runs, "rollout")
    undeclared = [host for host in asked if not declaration.allows(host)]
    if undeclared:
        listed = ", ".join(f'"{host}"' for host in undeclared[:3])
        return failed(
            "network",
            f"Rollouts contacted {', '.join(undeclared)}, which the project does not declare",
            f"declare it below [tool.prime]: `network = [{listed}]`, or remove the access",
            rollout=asked,
            load=loading,
        )
    told = f", loading for {', '.join(loading)}" if loading else ""
    if asked:
        words = f"Rollouts contacted {', '.join(asked)}, as declared{told}"
        return passed("network", words, rollout=asked, load=loading)
    return passed("network", f"Rollouts contacted no host{told}", load=loading)


def _hosts_reached(runs: tuple[ProbeRun, ...], phase: str) -> list[str]:
    return sorted({host for run in runs for host in run.hosts[phase]})

"""Which hosts were asked for, and whether the project says so."""

from prime_cli.evals.env_check.declaration import Declaration
from prime_cli.evals.env_check.findings import failed, passed
from prime_cli.evals.env_check.probe_run import Sounding
from prime_cli.wire.check_reports import Check


def check_network(runs: tuple[Sounding, ...], declaration: Declaration) -> Check:
    """`network`: rollouts ask only for hosts that `[tool.prime] network` names.

    What is asked for while the environment loads (a dataset, say) is told and not judged.
    """
    loading = _hosts(runs, "load")
    asked = _hosts(runs, "rollout")
    undeclared = [host for host in asked if not declaration.allows(host)]
    if undeclared:
        listed = ", ".join(f'"{host}"' for host in undeclared[:3])
        return failed(
            "network",
            f"Rollouts asked for {', '.join(undeclared)}, which the project does not declare",
            f"declare it below [tool.prime]: `network = [{listed}]`, or do without",
            rollout=asked,
            load=loading,
        )
    told = f", loading for {', '.join(loading)}" if loading else ""
    if asked:
        words = f"Rollouts asked for {', '.join(asked)}, as declared{told}"
        return passed("network", words, rollout=asked, load=loading)
    return passed("network", f"Rollouts asked for no host{told}", load=loading)


def _hosts(runs: tuple[Sounding, ...], phase: str) -> list[str]:
    return sorted({host for run in runs for host in run.hosts[phase]})

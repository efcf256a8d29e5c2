"""Words of the official client and of vf-eval that are not here, and what to do instead."""

_HERE_ONLY = "evaluations run on this machine: leave it out"
_HOSTED = (
    "--hosted", "--follow", "--poll-interval", "--timeout-minutes", "--allow-sandbox-access",
    "--allow-instances-access", "--allow-tunnel-access", "--custom-secrets", "--eval-name",
)  # fmt: skip
_NOT_YET = "it is not built yet"
_PICKED_IN_ORDER = f"{_NOT_YET}: the first `-n` examples are taken, in their order"
_FOLLOW = "evaluations run on this machine: watch one with `tail -f` on its worker.log"
_SAVED_IN = "runs are saved below ./outputs/evals; `cd` to where you want that"

_OPTIONS = {
    "prime": {"-c": "name the hub with `--context`; `-c` is the concurrency of `prime eval run`"},
    "prime env list": {
        "--offset": "turn pages with `--page`",
        "--show-actions": "environments have no actions: leave it out",
        "--action-status": "environments have no actions: leave it out",
    },
    "prime eval logs": dict.fromkeys(("--follow", "-f", "--poll-interval"), _FOLLOW),
    "prime eval run": {
        **dict.fromkeys(_HOSTED, _HERE_ONLY),
        **dict.fromkeys(("--shuffle", "--shuffle-seed"), _PICKED_IN_ORDER),
        **dict.fromkeys(("--output-dir", "-o"), _SAVED_IN),
        "--env-dir-path": "give the folder itself, as in `prime eval run ./environments/my_env`",
        "--env-path": "give the folder itself, as in `prime eval run ./environments/my_env`",
        "--heartbeat-url": _NOT_YET,
        "--header-from-state": f"{_NOT_YET}; `--header` sends one that stays the same",
        "--api-client-type": "models are reached by chat completions: leave it out",
    },
}
_COMMANDS = {
    "prime": {
        "login": "set PRIME_API_KEY; the local hub needs no login",
        "logout": "unset PRIME_API_KEY",
        "upgrade": "upgrade with `uv tool upgrade prime-cli` or `pip install -U prime-cli`",
    },
    "prime env": {
        "eval": "type `prime eval run`",
        "action": "environments have no actions",
    },
    "prime eval": {
        "stop": "evaluations run on this machine: stop one with Ctrl-C",
    },
    "prime config": {
        "set-api-key": "set PRIME_API_KEY",
        "set-base-url": "set PRIME_API_BASE_URL",
        "use": "name the hub with `--context`, or set PRIME_CONTEXT",
    },
}


def instead_of_option(path: str, name: str) -> str | None:
    """What to do where the official `path` (as `prime eval run`) has the option `name`."""
    return _OPTIONS.get(path, {}).get(name)


def instead_of_command(path: str, name: str) -> str | None:
    """What to do where the official group `path` has the command `name`."""
    return _COMMANDS.get(path, {}).get(name)

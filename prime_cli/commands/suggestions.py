"""What to do instead: nearest names, and hints for options of the official client and vf-eval."""

import difflib
from collections.abc import Collection

_SHORTEST = 3

"""Letters of a beginning that say what was meant."""


def nearest_word(word: str, known: Collection[str]) -> str | None:
    """The first of `known` that begins with `word`, else the one most like it, if any is.

    `--gpu` is rather `--gpu-type` than `--vcpus`, and `avail` rather `availability` than `eval`.
    """
    if len(word.lstrip("-")) >= _SHORTEST:
        begun = next((each for each in known if each.startswith(word)), None)
        if begun is not None:
            return begun
    return next(iter(difflib.get_close_matches(word, known, n=1)), None)


_HERE_ONLY = "evaluations run on this machine: omit it"

_HOSTED = (
    "--hosted", "--follow", "--poll-interval", "--timeout-minutes", "--allow-sandbox-access",
    "--allow-instances-access", "--allow-tunnel-access", "--custom-secrets", "--eval-name",
)  # fmt: skip

_NOT_YET = "it is not built yet"

_FOLLOW = "evaluations run on this machine: watch one with `tail -f` on its worker.log"

_END_POD = "use `prime pods terminate`"

_OF_PODS = {
    **dict.fromkeys(("delete", "rm", "remove", "kill", "destroy"), _END_POD),
    "stop": f"pods do not pause; to end one, {_END_POD}",
    **dict.fromkeys(("get", "show", "info", "describe"), "use `prime pods status`"),
    **dict.fromkeys(("new", "run", "launch"), "use `prime pods create`"),
}

_OF_DISKS = {
    **dict.fromkeys(("delete", "rm", "remove"), "use `prime disks terminate`"),
    **dict.fromkeys(("show", "status", "info"), "use `prime disks get`"),
    "rename": "use `prime disks update DISK --name NAME`",
}

_OF_NEW_PODS = {"--gpus": "type `--gpu-count` for how many, `--gpu-type` for which"}

_OF_KEYS = {"delete": "use `prime ssh-keys remove`"}

_NO_TRACES = "evaluations send no traces: omit it"

_KEY_LIMITS = (
    "--max-concurrent-sandboxes", "--max-sandbox-creations-per-hour", "--max-sandbox-cpu-cores",
    "--max-sandbox-gpu-count", "--max-concurrent-tunnels", "--max-tunnel-creations-per-hour",
    "--max-tunnel-ttl-hours",
)  # fmt: skip

_OPTIONS = {
    "prime": {
        "-c": "choose the hub with `--context`; `-c` is the concurrency of `prime eval run`",
        "--install-completion": "use `prime completion install`",
        "--show-completion": "use `prime completion bash`, or zsh, fish, powershell",
    },
    **dict.fromkeys(("prime pods create", "prime pod create"), _OF_NEW_PODS),
    "prime login": dict.fromkeys(_KEY_LIMITS, "keys here have no such limits: omit it"),
    "prime env upload": {
        "--private": "type `--visibility private`",
        "--public": "type `--visibility public`",
    },
    "prime env list": {
        "--offset": "use `--page`",
        "--show-actions": "environments have no actions: omit it",
        "--action-status": "environments have no actions: omit it",
    },
    "prime eval logs": dict.fromkeys(("--follow", "-f", "--poll-interval"), _FOLLOW),
    "prime eval run": {
        **dict.fromkeys(_HOSTED, _HERE_ONLY),
        "--shuffle-seed": "use `--shuffle SEED`",
        "-o": "use `--output` for the format, `--output-dir` for the folder",
        "--env-dir-path": "pass the folder itself, as in `prime eval run ./environments/my_env`",
        "--env-path": "pass the folder itself, as in `prime eval run ./environments/my_env`",
        "--heartbeat-url": _NOT_YET,
        "--header-from-state": f"{_NOT_YET}; `--header` sends a constant one",
        "--api-client-type": "models are called by chat completions: omit it",
    },
}

_COMMANDS = {
    "prime": {
        **dict.fromkeys(("ssh", "connect"), "use `prime pods ssh`"),
        "upgrade": "use `prime update`",
    },
    "prime env": {
        "eval": "use `prime eval run`",
        "action": "environments have no actions",
    },
    **dict.fromkeys(("prime pods", "prime pod"), _OF_PODS),
    **dict.fromkeys(("prime disks", "prime disk"), _OF_DISKS),
    **dict.fromkeys(("prime ssh-keys", "prime ssh-key"), _OF_KEYS),
    "prime eval": {
        "stop": "evaluations run on this machine: stop one with Ctrl-C",
    },
    "prime config": {
        "set-api-key": "use `prime login --token-stdin`, or set PRIME_API_KEY",
        "set-base-url": "use `prime login --hub URL`, or set PRIME_API_BASE_URL",
        "set-frontend-url": "use `prime context add NAME URL --web-url URL`",
        "set-inference-url": "give the endpoint: `prime eval run … -b URL -k VARIABLE`",
        "set-team-id": "use `prime switch TEAM`, or `prime config set team TEAM`",
        "remove-team-id": "use `prime switch personal`, or `prime config unset team`",
        "set-ssh-key-path": "use `prime config set ssh_key_path FILE`",
        "set-share-resources-with-team": "sharing is chosen when it is created: omit it",
        "set-traces-url": _NO_TRACES,
        "set-traces-opt-out": _NO_TRACES,
        "envs": "use `prime context list`",
        "list": "use `prime config show`",
        "save": "use `prime login --hub URL --name NAME`, or `prime context add NAME URL`",
        "delete": "use `prime context delete NAME`",
        "reset": "use `prime logout`, and `prime config unset NAME` for each setting",
    },
}


def hint_for_option(path: str, name: str) -> str | None:
    """What to do where the official `path` (as `prime eval run`) has the option `name`."""
    return _OPTIONS.get(path, {}).get(name)


def hint_for_command(path: str, name: str) -> str | None:
    """What to do where the official group `path` has the command `name`."""
    return _COMMANDS.get(path, {}).get(name)

"""Which files of this folder an adapter consists of; used by `prime rollouts adapter` alone."""

from pathlib import Path

PACKAGE = "prime_adapters"
"""The folder that they are copied to, which is imported by this name."""

ADAPTERS = {
    "verl": ("service", "continuation", "verl"),
    "tinker": ("service", "tinker"),
    "rllm": ("service", "continuation", "verl", "rllm"),
    "skyrl": ("service", "continuation", "skyrl"),
    "art": ("service", "art"),
}


def files_of(name: str) -> dict[str, bytes]:
    """{file name: content} of the adapter `name`; raises KeyError for an unknown one."""
    here = Path(__file__).parent
    found = {f"{each}.py": here / f"{each}.py" for each in ("__init__", *ADAPTERS[name])}
    if "continuation.py" in found:
        # Here it only names what the TRL engine has.
        found["continuation.py"] = here.parent / "engines/trl/prime_trl/conversations.py"
    return {name: path.read_bytes() for name, path in found.items()}

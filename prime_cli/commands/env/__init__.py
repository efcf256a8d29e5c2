"""`prime env …`."""

from prime_cli.commands.base import group

_HERE = "prime_cli.commands.env"

app = group(
    "Write, publish and install environments.",
    {
        "init": (f"{_HERE}.project:init", "Start a new environment that runs as it is."),
        "build": (f"{_HERE}.project:build", "Build a wheel and check that it can be used."),
        "check": (f"{_HERE}.check:check", "Check whether an environment is any good."),
        "upload": (f"{_HERE}.upload:upload", "Build an environment and publish it on the hub."),
        "install": (f"{_HERE}.install:install", "Install environments into the workspace."),
        "trust": (
            f"{_HERE}.trust:trust",
            "Trust owners of the current hub, or list who is trusted.",
        ),
        "bundle": (f"{_HERE}.bundle:bundle", "Put environments and their packages into one file."),
        "signers": (f"{_HERE}.trust:signers", "List or change whose signatures are believed."),
        "uninstall": (f"{_HERE}.install:uninstall", "Remove environments from the workspace."),
        "lock": (
            f"{_HERE}.lock:lock",
            "Write versions and hashes of environments into prime.lock.",
        ),
        "sync": (f"{_HERE}.sync:sync", "Give the workspace the environments of prime.lock."),
        "outdated": (
            f"{_HERE}.lock:outdated",
            "Show which environments have a newer version.",
        ),
        "diff": (f"{_HERE}.diff:diff", "Show what differs between two versions of an environment."),
        "pull": (f"{_HERE}.sources:pull", "Fetch the sources of an environment."),
        "info": (f"{_HERE}.info:info", "Show an environment and the ways to use it."),
        "status": (f"{_HERE}.info:status", "Show who sees an environment and what is newest."),
        "list": (f"{_HERE}.list:list_published", "List environments on the hub."),
        "verify": (
            f"{_HERE}.verify:verify",
            "Rebuild a published wheel from its sources, and compare the two.",
        ),
        "versions": (f"{_HERE}.versions:versions", "List the versions of an environment."),
        "delete": (f"{_HERE}.versions:delete", "Delete an environment or one version of it."),
        "inspect": (f"{_HERE}.sources:inspect", "Look into the files of a published version."),
    },
    aliases={"push": "upload"},
    panels={
        "Publish": "build check versions delete status",
        "Workspace": "uninstall lock sync outdated",
        "Inspect": "diff pull inspect",
        "Trust and transfer": "trust signers verify bundle",
    },
    unlisted={
        "version": (f"{_HERE}.versions:app", "List the versions of an environment, or delete one.")
    },
)

"""The root table: what `prime` can do, by name."""

from typing import Annotated

import typer

from prime_cli import __version__
from prime_cli.commands.base import group
from prime_cli.commands.options import CONTEXT, common_options


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prime {__version__}")
        raise typer.Exit


@common_options(CONTEXT, "_version")
def _root(
    ctx: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-v", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    ctx.obj.context_name = ctx.params["context"]


app = group(
    "Write, share, evaluate and train on RL environments.",
    {
        "env": ("prime_cli.commands.env:app", "Write, publish and install environments."),
        "eval": ("prime_cli.commands.eval:app", "Evaluate models on environments."),
        "train": ("prime_cli.commands.train:app", "Train a model on an environment."),
        "rollouts": ("prime_cli.commands.rollouts:app", "Produce rollouts for trainers."),
        "open": (
            "prime_cli.commands.open:open_pages",
            "Show runs and environments in a browser.",
        ),
        "serve": (
            "prime_cli.commands.serve:serve",
            "Serve a model on this machine with the OpenAI API.",
        ),
        "availability": (
            "prime_cli.commands.availability:app",
            "Find machines to rent, with prices.",
        ),
        "pods": ("prime_cli.commands.pods:app", "Create, connect to and terminate pods."),
        "sandbox": (
            "prime_cli.commands.sandbox:app",
            "Create sandboxes, and run code in them.",
        ),
        "disks": ("prime_cli.commands.disks:app", "Manage persistent disks."),
        "ssh-keys": (
            "prime_cli.commands.ssh_keys:app",
            "Manage the SSH keys that can access your pods.",
        ),
        "gc": (
            "prime_cli.commands.gc:gc",
            "Terminate orphaned and expired pods, disks and sandboxes.",
        ),
        "hub": ("prime_cli.commands.hub:app", "Run a hub for a team."),
        "login": (
            "prime_cli.commands.login:login",
            "Log in to a hub and make it the current one.",
        ),
        "join": ("prime_cli.commands.join:join", "Accept an invitation to a hub or a team."),
        "logout": ("prime_cli.commands.login:logout", "Log out of a hub and remove its key."),
        "whoami": ("prime_cli.commands.whoami:whoami", "Show the current user and hub."),
        "switch": (
            "prime_cli.commands.teams:switch",
            "Switch to a team or to your personal account.",
        ),
        "teams": ("prime_cli.commands.teams:app", "List your teams, and manage their members."),
        "keys": ("prime_cli.commands.keys:app", "Manage your API keys."),
        "identities": (
            "prime_cli.commands.identities:app",
            "Manage the identities that log you in.",
        ),
        "secret": (
            "prime_cli.commands.secrets:app",
            "Manage your secrets and those of your teams.",
        ),
        "context": (
            "prime_cli.commands.context:app",
            "Manage the hubs that you use.",
        ),
        "config": ("prime_cli.commands.config:app", "Show and change settings."),
        "cache": (
            "prime_cli.commands.cache:app",
            "List, verify and prune prime's cache.",
        ),
        "doctor": (
            "prime_cli.commands.doctor:doctor",
            "Diagnose problems with this machine and its settings.",
        ),
        "completion": (
            "prime_cli.commands.completion:app",
            "Set up shell completion.",
        ),
        "update": ("prime_cli.commands.update:update", "Update prime."),
    },
    unlisted={"fork": ("prime_cli.commands.env.fork:fork", "Copy an environment.")},
    aliases={
        "key": "keys",
        "identity": "identities",
        "secrets": "secret",
        "team": "teams",
        "pod": "pods",
        "sandboxes": "sandbox",
        "disk": "disks",
        "ssh-key": "ssh-keys",
    },
    panels={
        "Hubs and accounts": "join logout whoami switch teams keys identities secret context hub",
        "Compute": "availability sandbox disks ssh-keys gc",
        "Settings": "config cache completion update",
    },
    callback=_root,
)

"""The root table: what `prime` can do, by name."""

from typing import Annotated

import typer

from prime_cli import __version__
from prime_cli.commands.base import group
from prime_cli.commands.options import ContextOpt


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prime {__version__}")
        raise typer.Exit


def _root(
    ctx: typer.Context,
    context: ContextOpt = None,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-v", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    ctx.obj.context_name = context


app = group(
    "Write, share, evaluate and train on RL environments.",
    {
        "env": ("prime_cli.commands.env:app", "Write, publish and install environments."),
        "eval": ("prime_cli.commands.eval:app", "Evaluate models on environments."),
        "availability": (
            "prime_cli.commands.availability:app",
            "See which machines can be rented, and at what price.",
        ),
        "pods": ("prime_cli.commands.pods:app", "Rent machines, reach them, give them back."),
        "disks": ("prime_cli.commands.disks:app", "Rent disks that outlive pods."),
        "ssh-keys": ("prime_cli.commands.ssh_keys:app", "Say which keys open your pods."),
        "gc": (
            "prime_cli.commands.gc:gc",
            "Find pods and disks that cost without need, and end them.",
        ),
        "hub": ("prime_cli.commands.hub:app", "Run a hub for a team."),
        "login": (
            "prime_cli.commands.login:login",
            "Log in to a hub, and make it the current one.",
        ),
        "logout": ("prime_cli.commands.login:logout", "Forget the key of a hub."),
        "whoami": ("prime_cli.commands.whoami:whoami", "Show who you are on which hub."),
        "switch": (
            "prime_cli.commands.teams:switch",
            "Choose the team that you work for, or yourself.",
        ),
        "teams": ("prime_cli.commands.teams:app", "See the teams that you are in."),
        "context": (
            "prime_cli.commands.context:app",
            "See, choose and change the hubs that are known here.",
        ),
        "config": ("prime_cli.commands.config:app", "See and change what prime is set to."),
        "cache": (
            "prime_cli.commands.cache:app",
            "See what is kept on this disk, check it, and remove what is old.",
        ),
        "doctor": (
            "prime_cli.commands.doctor:doctor",
            "Look for what is wrong with this machine or its settings.",
        ),
        "completion": (
            "prime_cli.commands.completion:app",
            "Complete commands, options and names with Tab.",
        ),
    },
    aliases={"team": "teams", "pod": "pods", "disk": "disks", "ssh-key": "ssh-keys"},
    panels={
        "Hubs and accounts": "logout whoami switch teams context hub",
        "Compute": "availability disks ssh-keys gc",
        "Settings": "config cache completion",
    },
    callback=_root,
)

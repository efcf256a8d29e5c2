"""Every command and option of a release has a row in `commands/official_client.toml`."""

import json
import subprocess
from pathlib import Path

import pytest

from prime_cli.commands.official_client import OFFICIAL, read_rows
from tests.helpers.official import OfficialClient, Release

pytestmark = [pytest.mark.slow, pytest.mark.sample(1, "release")]

_READ_TREE = """
import json, sys, typer
from prime_cli.main import app

def walk(command, path):
    options = [
        name
        for each in command.params
        if each.param_type_name == "option"
        for name in (*each.opts, *each.secondary_opts)
    ]
    yield path, options
    for name, member in getattr(command, "commands", {}).items():
        yield from walk(member, f"{path} {name}".strip())

print(json.dumps(dict(walk(typer.main.get_command(app), ""))))
"""


def test_every_command_and_option_of_the_release_has_a_row(
    release: Release, tmp_path: Path
) -> None:
    python = release.script.with_name("python")
    done = subprocess.run(
        [str(python), "-I", "-c", _READ_TREE],  # not the package of this folder
        env=OfficialClient(release, tmp_path).environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    rows = read_rows()[OFFICIAL]
    missing = []
    for path, options in json.loads(done.stdout).items():
        row = rows.get(path)
        if path and row is None:
            missing.append(path)
        if row is None or not row.options:
            continue
        known = {name for spelt in row.options.split() for name in spelt.split("/")}
        known |= {"--plain", "--help", "-h"}
        missing += [f"{path} {name}" for name in options if name not in known]
    assert [name for name in missing if name not in rows] == []

"""A small world in which every command has something to show: hubs, environments, runs.

It is made once; a command that changes something is given a copy of its own.
"""

import json
import os
import shutil
import subprocess
import sys
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from prime_cli.client.api.client import HubClient
from prime_cli.client.api.transports import AppTransport
from prime_cli.envs.project.starters import mark_published
from prime_cli.hub.app import create_app
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.context import open_hub as open_data
from prime_cli.hub.services.invitations import invite
from prime_cli.hub.services.key_management import issue_key
from prime_cli.hub.services.logins import begin_login
from prime_cli.hub.services.takedowns import take_down
from prime_cli.hub.services.teams import set_member
from prime_cli.hub.services.users import create_user
from prime_cli.hub.settings import HubSettings
from prime_cli.runtime.uv_tool import find_uv
from prime_cli.wire.accounts import NewTakedown
from prime_cli.wire.invitations import NewInvitation
from prime_cli.wire.publishers import GITHUB, NewPublisher
from tests.commands.walk.disks_entries import rent_disk
from tests.commands.walk.pods_entries import rent_pods
from tests.commands.walk.sandbox_entries import leave_sandbox
from tests.evals.suites.keeping import kept
from tests.helpers.environments import V0
from tests.helpers.hubs import publish
from tests.helpers.identities import link_identity
from tests.helpers.login_keys import PRIVATE_KEY, pem
from tests.helpers.machines import Machines
from tests.helpers.teams import create_team
from tests.helpers.wild import Shape, write_project, write_wheel
from tests.runs.rows import row
from tests.runs.saving import save_parts, save_receipt, save_run, save_trajectory

SERVED_URL = "https://hub.example.org"
SECRET = "secret-planted-on-the-hub"
"""The value of the secrets on the served hub."""
_OPERATOR = Caller.operator()
_PUBLISHER = NewPublisher("lab", "letters", GITHUB, {"repository": "lab/letters"})


@dataclass(frozen=True)
class World:
    """Names that the words of an entry may hold, as `{run}`; `root` is where everything is.

    `here` is the folder to run commands in, `home` prime's, `served` the data of a hub with
    accounts and `key` a key of its admin `ada`; `link` is an invitation to its team `lab`, and
    `invited` the id of that; `publisher` is one that it trusts, and `identity` one of Ada's. On the
    hub in the box are `ada/wordle@1.2` and two versions of `ada/tiny-env`, one of which the
    workspace `here/.venv` has; `run` and `other` are runs of wordle, the first of which is also the
    evaluation `evaluation`; in the folder `parts` are those of a third; `made` is one that was
    really run, of the project `tiny-env`. The served hub rents `machines`: ada has a pod `web`
    there, and `ada/puzzle@1.2` with a secret `PLANTED`, ada's secret `LINKED` and a variable.
    """

    root: Path
    key: str = ""
    token: str = ""
    login: str = ""
    link: str = ""
    invited: str = ""
    identity: str = ""
    publisher: str = ""
    run: str = ""
    other: str = ""
    evaluation: str = ""
    suite: str = ""
    made: str = ""
    machines: Machines = field(default_factory=lambda: Machines(at_once=True))

    @property
    def here(self) -> Path:
        return self.root / "here"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def served(self) -> Path:
        return self.root / "served"

    @property
    def backup(self) -> Path:
        return self.root / "backup.tar"

    @property
    def python(self) -> Path:
        return (
            self.here
            / ".venv"
            / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        )

    def copy(self, folder: Path) -> "World":
        """The same, somewhere else; what packages installed is linked, or the disk would fill."""
        shutil.copytree(self.root, folder, symlinks=True, copy_function=_copy_or_link)
        return replace(self, root=folder, machines=deepcopy(self.machines))

    def filled(self, words: str) -> list[str]:
        """The words of an entry with the names in them replaced."""
        names = {field.name: str(getattr(self, field.name)) for field in fields(self)}
        places = ("here", "home", "served", "backup", "python")
        names |= {name: str(getattr(self, name)) for name in places}
        return [word.format(**names) for word in words.split()]

    def served_transport(self) -> AppTransport:
        """The way to the served hub, without a socket."""
        return AppTransport(create_app(self._settings()))

    def served_data(self) -> Hub:
        """Its data, as its operator has them."""
        return open_data(self._settings())

    def _settings(self) -> HubSettings:
        return HubSettings(
            data=self.served,
            owner="nobody",
            accounts=True,
            public_url=SERVED_URL,
            providers=(self.machines,),
            publisher_issuers=frozenset({GITHUB}),
        )


def make_world(root: Path) -> World:
    """The world in the new folder `root`; without what only `prime` itself can make."""
    world = World(root)
    for folder in (world.here, world.home, world.root / "tmp"):
        folder.mkdir(parents=True)
    _fill_box(world)
    _fill_served(world)
    write_project(world.here / "environments" / "tiny_env", Shape(dependencies=("verifiers<0.2",)))
    _fill_workspace(world)
    official = {"api_key": "pit_official", "base_url": "https://old.example.org"}
    (world.here / "config.json").write_text(json.dumps(official), encoding="utf-8")
    runs = [
        save_run(world.here, row(0, reward=1.0), row(1, reward=reward), planned=2)
        for reward in (0.0, 1.0)
    ]
    for each in runs:
        save_receipt(each)
    save_parts(world.here / "parts", 2)
    labels = "example,rollout,person,label\n0,0,ada,pass\n"
    (world.here / "labels.csv").write_text(labels, encoding="utf-8", newline="\n")
    save_trajectory(world.here / "log")
    data = world.served_data()
    made = invite(data, _OPERATOR, NewInvitation(team="lab"))
    key = issue_key(data, _OPERATOR, "ada", scope="admin").key
    served = HubClient(SERVED_URL, key=key, transport=world.served_transport())
    rent_pods(served)
    rent_disk(served)
    _fill_secrets(served, root / "puzzle")
    issue_key(data, _OPERATOR, "ada", name="spare")
    return replace(
        world,
        key=key,
        link=made.link,
        invited=made.invitation.id,
        identity=link_identity(data, "ada"),
        publisher=served.publishers.add(_PUBLISHER).id,
        token=issue_key(data, _OPERATOR, "bob").id,
        login=begin_login(data, "192.0.2.7", pem(PRIVATE_KEY.public_key())).challenge,
        run=runs[0].run_id,
        other=runs[1].run_id,
        suite=kept(world.here).suite_id,
    )


def _fill_box(world: World) -> None:
    data = world.home / "hub"
    mark_published(data)
    transport = AppTransport(create_app(HubSettings(data=data, owner="ada")))
    hub = HubClient("http://hub.local", transport=transport)
    publish(hub, world.root / "wordle", "wordle", version="1.2", requires=())
    for version in ("0.1.0", "0.2.0"):
        publish(hub, world.root / "tiny", version=version, requires=(), tags=("tiny",))
    leave_sandbox(open_data(HubSettings(data=data, owner="ada")))


def _fill_secrets(served: HubClient, folder: Path) -> None:
    """Ada's environment on the served hub, and her secrets there."""
    ref = publish(served, folder, "puzzle", version="1.2", requires=())
    env_id = served.environments.get(ref).id
    own, of_puzzle = served.secrets.of_owner(), served.secrets.of_environment(env_id)
    for store in (own, of_puzzle):
        store.create("PLANTED", SECRET, None)
    of_puzzle.link(own.create("LINKED", SECRET, None).id)
    served.secrets.variables_of(env_id).create("SIZE", "3", "how many")


def _fill_workspace(world: World) -> None:
    """A workspace whose verifiers is an empty wheel: the real one would be half a gigabyte."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--symlinks", world.here / ".venv"],
        check=True,
    )
    wheel = write_wheel(world.root / "dist", {"verifiers.py": ""}, name="verifiers", version=V0)
    words = ["pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(world.python)]
    subprocess.run([find_uv(), *words, str(wheel)], check=True)


def _fill_served(world: World) -> None:
    data = world.served_data()
    for user, admin in (("ada", True), ("bob", False), ("mallory", False)):
        create_user(data, _OPERATOR, user, admin=admin)
    take_down(data, _OPERATOR, NewTakedown("mallory", "Spam"))
    create_team(data, _OPERATOR, "lab")
    set_member(data, _OPERATOR, "lab", "ada", "admin")
    set_member(data, _OPERATOR, "lab", "bob", "member")


def _copy_or_link(source: str, target: str) -> str:
    """uv and prime replace what is in site-packages; nothing writes into its files."""
    if "site-packages" in source:
        os.link(source, target)
        return target
    return str(shutil.copy2(source, target))

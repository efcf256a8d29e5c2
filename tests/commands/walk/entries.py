"""With which words each command is run, so that it has something to show.

A new command needs an entry here: the words after `prime`, in which `{run}` and the like are
fields of `world.World`. `changes` says that it changes its world and is given one of its own.
"""

from tests.commands.walk.availability_entries import OF_RENTING
from tests.commands.walk.disks_entries import OF_DISKS
from tests.commands.walk.entry import SERVED, Entry
from tests.commands.walk.hub_entries import OF_HUBS
from tests.commands.walk.pods_entries import OF_PODS
from tests.commands.walk.sandbox_entries import OF_SANDBOXES, PASSING_ON
from tests.commands.walk.secret_entries import OF_SECRETS
from tests.commands.walk.ssh_entries import OF_SSH, REACHING_ALONE

WITHOUT_OUTPUT = {
    **REACHING_ALONE,
    **PASSING_ON,
    "prime completion bash": "prints a script, for a shell to read",
    "prime completion fish": "prints a script, for a shell to read",
    "prime completion powershell": "prints a script, for a shell to read",
    "prime completion zsh": "prints a script, for a shell to read",
    "prime env shell": "prints what the command prints",
    "prime env test": "prints what pytest prints",
    "prime eval view": "takes the whole screen, and a terminal is asked for",
    "prime rollouts dump": "prints JSON lines for a trainer",
    "prime rollouts serve": "serves until it is ended, and prints variables for a shell once",
    "prime open": "serves until it is ended, and prints an address once",
    "prime judge label": "serves until it is ended, and prints an address once",
    "prime hub serve": "serves until it is ended, and prints variables for a shell once",
}
"""Commands that have no `--output`, and why."""

_BUILT = "--offline --no-check"
_RUN = "-m builtin/oracle -n 2 -r 1"

ENTRIES: dict[str, tuple[Entry, ...]] = {
    # --- the root ---
    "prime whoami": (
        Entry("whoami"),
        Entry("whoami", hub=SERVED),
    ),
    "prime login": (
        Entry(
            "login --hub https://other.example.org --token-stdin --storage file",
            wrong="login --hub ftp://other.example.org --token-stdin",
            wrong_code=2,
            hub=SERVED,
            stdin="{key}",
            changes=True,
        ),
    ),
    "prime join": (
        Entry(
            "join {link} --user eve --name other --storage file",
            wrong="join https://hub.example.org/join#prime_inv_wrong",
            hub=SERVED,
            changes=True,
        ),
    ),
    "prime logout": (Entry("logout team", wrong="logout no-such", hub=SERVED, changes=True),),
    "prime switch": (Entry("switch lab", wrong="switch no-such", hub=SERVED, changes=True),),
    "prime update": (Entry("update --check"),),
    "prime skills add": (Entry("skills add --dest mine", changes=True),),
    "prime schema": (Entry("schema whoami", wrong="schema whomai"),),
    "prime doctor": (Entry("doctor --offline", slow=True),),
    # --- teams ---
    "prime teams list": (Entry("teams list", hub=SERVED),),
    "prime teams members": (Entry("teams members lab", wrong="teams members no-such", hub=SERVED),),
    "prime teams add": (
        Entry("teams add lab bob:admin", wrong="teams add lab eve", changes=True, hub=SERVED),
    ),
    "prime teams remove": (
        Entry(
            "teams remove lab bob --yes",
            wrong="teams remove no-such bob --yes",
            changes=True,
            hub=SERVED,
        ),
    ),
    "prime env publisher add": (
        Entry(
            "env publisher add lab/words --github lab/words --workflow publish.yml",
            wrong="env publisher add nobody/words --github lab/words",
            wrong_code=4,
            changes=True,
            hub=SERVED,
        ),
    ),
    "prime env publisher list": (
        Entry(
            "env publisher list lab", wrong="env publisher list nobody", wrong_code=4, hub=SERVED
        ),
    ),
    "prime env publisher remove": (
        Entry(
            "env publisher remove {publisher}",
            wrong="env publisher remove no-such",
            changes=True,
            hub=SERVED,
        ),
    ),
    "prime teams invite": (
        Entry("teams invite lab", wrong="teams invite no-such", changes=True, hub=SERVED),
    ),
    "prime teams invitations": (
        Entry("teams invitations lab", wrong="teams invitations no-such", hub=SERVED),
    ),
    "prime teams revoke-invitation": (
        Entry(
            "teams revoke-invitation {invited}",
            wrong="teams revoke-invitation no-such",
            changes=True,
            hub=SERVED,
        ),
    ),
    # --- context ---
    "prime context list": (Entry("context list"),),
    "prime context show": (Entry("context show team", wrong="context show no-such"),),
    "prime context add": (
        Entry(
            "context add new https://new.example.org",
            wrong="context add team https://new.example.org",
            wrong_code=7,
            changes=True,
        ),
    ),
    "prime context use": (Entry("context use team", wrong="context use no-such", changes=True),),
    "prime context rename": (
        Entry(
            "context rename team crew",
            wrong="context rename no-such crew",
            changes=True,
        ),
    ),
    "prime context delete": (
        Entry("context delete team --yes", wrong="context delete no-such --yes", changes=True),
    ),
    # --- serve ---
    "prime serve": (
        Entry("serve no/model --port 0 --dry-run", wrong="serve ./no-such --port 0 --dry-run"),
    ),
    "prime train run": (
        Entry(
            "train run tiny-env -m no/model --dry-run",
            wrong="train run tiny-env -m ./no-such --dry-run",
        ),
    ),
    "prime train list": (Entry("train list"),),
    "prime train show": (Entry("train show", code=6, wrong="train show no-such"),),
    "prime train stop": (Entry("train stop", code=6, wrong="train stop no-such"),),
    "prime rollouts adapter": (
        Entry(
            "rollouts adapter verl work",
            wrong="rollouts adapter nothing",
            wrong_code=2,
            changes=True,
        ),
    ),
    # --- cache ---
    "prime cache list": (Entry("cache list"),),
    "prime cache prune": (Entry("cache prune --all", changes=True),),
    "prime cache verify": (Entry("cache verify"),),
    # --- completion ---
    "prime completion install": (
        Entry(
            "completion install zsh --yes",
            wrong="completion install tcsh",
            wrong_code=2,
            changes=True,
        ),
    ),
    "prime completion uninstall": (Entry("completion uninstall zsh --yes", changes=True),),
    # --- config ---
    "prime config get": (Entry("config get owner", wrong="config get no-such", wrong_code=2),),
    "prime config set": (
        Entry(
            "config set upstream none",
            wrong="config set offline perhaps",
            wrong_code=2,
            changes=True,
        ),
    ),
    "prime config unset": (
        Entry("config unset upstream", wrong="config unset no-such", wrong_code=2, changes=True),
    ),
    "prime config use": (Entry("config use team", wrong="config use no-such", changes=True),),
    "prime config path": (Entry("config path"),),
    "prime config import": (
        Entry("config import {here} --storage file", wrong="config import ./no", changes=True),
    ),
    "prime config show": (Entry("config show", wrong="config show --context no-such"),),
    # --- env ---
    "prime env init": (
        Entry("env init new-env", wrong="env init tiny-env", wrong_code=7, changes=True),
    ),
    "prime env build": (
        Entry(f"env build tiny-env {_BUILT}", wrong="env build ./nowhere", changes=True),
    ),
    "prime env migrate": (
        Entry(
            "env migrate tiny-env -n 1 --path {root}/migrated --force",
            wrong="env migrate ./nowhere",
            changes=True,
            slow=True,
        ),
    ),
    "prime env check": (Entry("env check tiny-env", wrong="env check ./nowhere", slow=True),),
    "prime env upload": (
        Entry("env upload tiny-env --dry-run", wrong="env upload ./nowhere"),
        Entry(f"env upload tiny-env --auto-bump {_BUILT}", changes=True),
    ),
    "prime env install": (
        Entry("env install ada/wordle --dry-run", wrong="env install ada/nothing"),
        Entry("env install ada/wordle", changes=True),
    ),
    "prime env uninstall": (
        Entry("env uninstall tiny-env", wrong="env uninstall nothing", changes=True),
    ),
    "prime env pull": (Entry("env pull ada/wordle", wrong="env pull ada/nothing", changes=True),),
    "prime env info": (Entry("env info ada/wordle", wrong="env info ada/nothing"),),
    "prime env status": (Entry("env status ada/wordle", wrong="env status ada/nothing"),),
    "prime env list": (
        Entry("env list"),
        Entry("env list --search no-such-thing"),
        Entry(
            "env list --installed",
            wrong="env list --installed --python ./nowhere",
            wrong_code=9,
        ),
    ),
    "prime env versions": (Entry("env versions ada/tiny-env", wrong="env versions ada/nothing"),),
    "prime env delete": (
        Entry("env delete ada/tiny-env --yes", wrong="env delete ada/nothing", changes=True),
    ),
    "prime env inspect": (
        Entry("env inspect ada/wordle"),
        Entry("env inspect ada/wordle README.md", is_text=True, wrong="env inspect ada/wordle no"),
    ),
    "prime env trust": (Entry("env trust"), Entry("env trust bob", hub=SERVED, changes=True)),
    "prime env signers": (Entry("env signers"),),
    "prime env verify": (
        Entry("env verify ada/wordle", code=1, wrong="env verify ada/nothing", slow=True),
    ),
    "prime env lock": (
        Entry("env lock ada/wordle --offline", wrong="env lock ada/nothing", changes=True),
    ),
    "prime env sync": (Entry("env sync --dry-run --offline"),),
    "prime env outdated": (Entry("env outdated", wrong="env outdated nothing"),),
    "prime env diff": (
        Entry("env diff ada/tiny-env@0.1.0 ada/tiny-env@0.2.0", wrong="env diff ada/nothing"),
    ),
    "prime env bundle": (
        Entry(
            "env bundle ada/wordle -o w.bundle --force",
            wrong="env bundle ada/nothing -o no.bundle",
            slow=True,
        ),
    ),
    # --- eval ---
    "prime eval run": (Entry(f"eval run tiny-env {_RUN}", wrong="eval run ./nowhere", slow=True),),
    "prime eval list": (
        Entry("eval list"),
        Entry("eval list --env nothing"),
        Entry("eval list --hub"),
    ),
    "prime eval show": (
        Entry("eval show {run}", wrong="eval show no-such-run"),
        Entry("eval show {run} --example 0"),
        Entry("eval show {run} --rollout 1.0", wrong="eval show {run} --rollout 7.7"),
        Entry("eval show {run} --errors"),
    ),
    "prime eval search": (Entry("eval search a {run}", wrong="eval search a no-such-run"),),
    "prime eval rerun": (Entry("eval rerun {made}", wrong="eval rerun no-such-run", slow=True),),
    "prime eval rescore": (
        Entry("eval rescore {made}", wrong="eval rescore no-such-run", slow=True),
    ),
    "prime eval import": (Entry("eval import log", wrong="eval import no-such", changes=True),),
    "prime eval watch": (Entry("eval watch {run}", wrong="eval watch no-such-run"),),
    "prime eval ctl status": (
        Entry("eval ctl status {run}", code=7, wrong="eval ctl status no-such-run"),
    ),
    "prime eval ctl pause": (
        Entry("eval ctl pause {run}", code=7, wrong="eval ctl pause no-such-run"),
    ),
    "prime eval ctl resume": (
        Entry("eval ctl resume {run}", code=7, wrong="eval ctl resume no-such-run"),
    ),
    "prime eval ctl set": (
        Entry("eval ctl set {run} -c 2", code=7, wrong="eval ctl set no-such-run"),
    ),
    "prime eval ctl drain": (
        Entry("eval ctl drain {run}", code=7, wrong="eval ctl drain no-such-run"),
    ),
    "prime eval ctl cancel": (
        Entry("eval ctl cancel 3:0 {run}", code=7, wrong="eval ctl cancel 3:0 no-such-run"),
    ),
    "prime eval ctl retry": (
        Entry("eval ctl retry 3:0 {run}", code=7, wrong="eval ctl retry 3:0 no-such-run"),
    ),
    "prime eval merge": (Entry("eval merge parts", wrong="eval merge no-such-run", changes=True),),
    "prime eval compare": (
        Entry("eval compare {run} {other}", wrong="eval compare {run} no-such-run"),
    ),
    "prime eval power": (
        Entry("eval power -d 0.1 --rate 0.5 --icc 0.5", wrong="eval power no-such-run -d 0.1"),
    ),
    "prime eval leaderboard": (
        Entry("eval leaderboard {suite}", wrong="eval leaderboard no-such-suite"),
    ),
    "prime eval gate": (
        Entry("eval gate {run} --fail-under 0.2", wrong="eval gate no-such-run"),
        Entry("eval gate {run} --fail-under 0.9", code=1),
    ),
    "prime judge calibrate": (
        Entry("judge calibrate {run} labels.csv", code=2, wrong="judge calibrate no-such-run x"),
    ),
    "prime eval verify": (Entry("eval verify {run}", wrong="eval verify no-such-run"),),
    "prime eval sign": (
        Entry("eval sign {run} --key no-such-key", code=6, wrong="eval sign no-such-run --key k"),
    ),
    "prime eval prices": (Entry("eval prices gpt-4.1-mini"), Entry("eval prices no-such-model")),
    "prime eval export": (
        Entry("eval export {run}", wrong="eval export no-such-run", changes=True),
    ),
    "prime eval push": (
        Entry("eval push {other}", wrong="eval push no-such-run", changes=True),
        Entry("eval push {run} {other}", changes=True),
    ),
    "prime eval get": (
        Entry("eval get {evaluation}", wrong="eval get ev_nothing"),
        Entry("eval get {evaluation} --save", changes=True),
    ),
    "prime eval samples": (Entry("eval samples {evaluation}", wrong="eval samples ev_nothing"),),
    "prime eval logs": (
        Entry("eval logs {evaluation}", wrong="eval logs ev_nothing", is_text=True),
    ),
    "prime eval delete": (
        Entry("eval delete {evaluation} --yes", wrong="eval delete ev_nothing", changes=True),
    ),
    **OF_SECRETS,
    **OF_HUBS,
    **OF_PODS,
    **OF_RENTING,
    **OF_DISKS,
    **OF_SSH,
    **OF_SANDBOXES,
}
"""By the command's path; add those of a new group below a line of its own."""

"""Where the engine reports its metrics besides prime: W&B, trackio, TensorBoard."""

import os
from pathlib import Path

from accelerate import PartialState

from .config import Config
from .failures import Stopped

_LOCAL = ("offline", "disabled", "dryrun")


def prepare_reports(config: Config, folder: Path, processes: PartialState) -> None:
    """Let local files go to the run's `folder`; raises Stopped where W&B accepts no key.

    trackio keeps its own in a folder that all its runs share, where `trackio show` finds them.
    """
    os.environ.setdefault("TENSORBOARD_LOGGING_DIR", str(folder / "tensorboard"))
    os.environ.setdefault("WANDB_DIR", str(folder))
    # transformers reports from the main process alone.
    reports_there = config.report == "wandb" and processes.is_main_process
    if reports_there and os.environ.get("WANDB_MODE") not in _LOCAL:
        _log_in()


def _log_in() -> None:
    import wandb

    try:
        # Now, not at the first step: the probe and the evaluation come before.
        wandb.login()
    except wandb.errors.Error as error:
        first = str(error).strip().partition("\n")[0]
        raise Stopped(
            "not_logged_in",
            f"W&B cannot be reported to: {first}",
            "set WANDB_API_KEY, or WANDB_MODE=offline to upload later with `wandb sync`",
        ) from error

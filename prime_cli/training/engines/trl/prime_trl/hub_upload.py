"""The trained model on Hugging Face, by its own client and with the user's HF_TOKEN."""

from pathlib import Path

from huggingface_hub import HfApi

from .config import Config
from .failures import Stopped


def prepare_push(config: Config) -> None:
    """Make the repository unless it is there; raises Stopped before anything is trained."""
    if config.push_to_hub is None:
        return
    try:
        HfApi().create_repo(config.push_to_hub, private=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise _refused(config.push_to_hub, error, "check HF_TOKEN and the name") from error


def push(config: Config, folder: Path) -> None:
    """Push `model/` of the run's `folder`; raises Stopped, after which a resume tries again."""
    if config.push_to_hub is None:
        return
    try:
        HfApi().upload_folder(
            repo_id=config.push_to_hub,
            folder_path=folder / "model",
            commit_message=f"Trained by prime, {folder.name}",
        )
    except (OSError, ValueError) as error:
        hint = "the model is in the training's folder; `prime train --resume` pushes it again"
        raise _refused(config.push_to_hub, error, hint) from error


def _refused(repository: str, error: Exception, hint: str) -> Stopped:
    first = str(error).strip().partition("\n")[0]
    return Stopped("engine_failed", f"Cannot push to {repository}: {first}", hint)

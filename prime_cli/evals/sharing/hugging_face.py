"""Push a dataset's folder to the Hugging Face Hub, or to a server with its API."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prime_cli.core.errors import (
    NotAllowed,
    NotLoggedIn,
    Offline,
    PrimeError,
    Unreachable,
    UsageError,
)
from prime_cli.core.installation import require
from prime_cli.runs.summary import Summary

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

_SHARD = re.compile(r"data/train-\d+-of-\d+\.parquet")
_TRANSPORTS = frozenset(("requests", "urllib3", "httpx", "httpcore", "httpx2", "httpcore2"))
"""The libraries of connection failures in huggingface_hub's releases; they share no base class."""
_REFUSED = (401, 403)
_LONGEST_NAME = 96


def require_pushing(environ: Mapping[str, str], *, offline: bool) -> None:
    """Raise what would prevent a push, before the run costs anything.

    UsageError without the packages, Offline, NotLoggedIn without a key.
    """
    require("hf", "Sharing on the Hugging Face Hub", "huggingface_hub", "pyarrow")
    if offline:
        raise Offline("The Hugging Face Hub cannot be reached offline", hint="omit `-H`")
    if not _token(environ):
        raise NotLoggedIn(
            "No key for the Hugging Face Hub",
            hint="set HF_TOKEN, or log in with `hf auth login`",
        )


def _token(environ: Mapping[str, str]) -> str | None:
    from huggingface_hub import get_token

    return environ.get("HF_TOKEN") or get_token()


def dataset_name(summary: Summary, environment: str) -> str:
    """vf-eval's name, `<environment>_<model>_n<N>_r<R>`, in the letters that the Hub takes."""
    model = summary.model.replace("/", "_")
    size = f"_n{summary.num_examples}_r{summary.rollouts_per_example}"
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{environment}_{model}")
    name = re.sub(r"[.-]{2,}", "-", name).strip("-.")
    return name[: _LONGEST_NAME - len(size)] + size


def push_dataset(
    folder: Path, name: str, *, environ: Mapping[str, str], public: bool = False
) -> tuple[str, bool]:
    """Upload `folder` as one commit to the data set `name` or `owner/name`.

    Returns its address, and whether everybody can see it. A bare name belongs to the key's owner.
    A new dataset is private unless `public`; an existing one keeps its visibility. HF_ENDPOINT and
    HF_TOKEN are honoured. Raises UsageError for an invalid name, NotAllowed, NotLoggedIn,
    Unreachable.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    endpoint = environ.get("HF_ENDPOINT") or None
    with _told(name):
        api = HfApi(endpoint=endpoint, token=_token(environ), library_name="prime-cli")
        made = api.create_repo(name, repo_type="dataset", private=not public, exist_ok=True)
        is_public = api.dataset_info(made.repo_id).private is False
        there = api.list_repo_files(made.repo_id, repo_type="dataset")
        # One commit: who reads meanwhile has the old data set whole, or the new one.
        api.create_commit(
            made.repo_id,
            operations=_operations(folder, there),
            repo_type="dataset",
            commit_message="Upload an evaluation",
        )
    return str(made), is_public


def _operations(
    folder: Path, there: list[str]
) -> "list[CommitOperationAdd | CommitOperationDelete]":
    """Add every file of `folder`; delete the shards of an earlier push."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.*")}
    stale = [name for name in there if _SHARD.fullmatch(name) and name not in files]
    return [
        *(CommitOperationAdd(name, path) for name, path in sorted(files.items())),
        *(CommitOperationDelete(name) for name in stale),
    ]


@contextmanager
def _told(name: str) -> Iterator[None]:
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        yield
    except HFValidationError as error:
        raise UsageError(
            f"`{name}` is not a valid dataset name: {error}",
            hint="use a name such as `-D me/wordle-gpt`",
        ) from error
    except HfHubHTTPError as error:
        raise _refusal(name, error) from error
    except Exception as error:
        if isinstance(error, OSError) or _is_of_transport(error):
            raise Unreachable(
                f"The Hugging Face Hub was not reached: {error}",
                hint="push it again later",
            ) from error
        raise


def _is_of_transport(error: BaseException) -> bool:
    return type(error).__module__.partition(".")[0] in _TRANSPORTS


def _refusal(name: str, error: Exception) -> PrimeError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    told = " ".join(str(error).split())
    if status in _REFUSED:
        return NotAllowed(
            f"The Hugging Face Hub does not allow this key to write {name}: {told}",
            hint="set HF_TOKEN to a key with write access",
        )
    return Unreachable(f"The Hugging Face Hub rejected {name}: {told}")

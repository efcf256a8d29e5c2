"""Start an engine with what it may have: its config, the service, and keys of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from prime_cli.core.paths import write_atomically
from prime_cli.serving.launch import Launch, engine_environment
from prime_cli.serving.plan import engine_secrets
from prime_cli.training.engines.catalogue import Engine

CONFIG, LOG = "engine.json", "engine.log"
_KEYS = {"wandb": ("WANDB_API_KEY",), "trackio": (), "tensorboard": ()}


@dataclass(frozen=True)
class EngineFiles:
    """An engine, the interpreter that has its packages, and the folder of the run."""

    engine: Engine
    python: Path
    folder: Path

    @property
    def log(self) -> Path:
        """What the engine prints."""
        return self.folder / LOG

    def launch(
        self,
        config: Mapping[str, Any],
        environ: Mapping[str, str],
        *,
        url: str,
        token: str,
        report: str | None,
        append: bool,
    ) -> Launch:
        """Write the config, and say how the engine is started; raises StorageFailed."""
        path = self.folder / CONFIG
        content = msgspec.json.format(msgspec.json.encode(config), indent=2)
        write_atomically(path, content + b"\n", mode=0o644)
        kept = engine_secrets(environ)
        kept |= {name: environ[name] for name in _KEYS.get(report or "", ()) if environ.get(name)}
        own = {
            "PRIME_ROLLOUTS_URL": url,
            "PRIME_ROLLOUTS_TOKEN": token,
            "PRIME_RUN_FOLDER": str(self.folder),
        }
        return Launch(
            self.engine.title,
            (str(self.python), str(self.engine.entry), str(path)),
            engine_environment(environ, {**kept, **own}),
            self.log,
            (*kept.values(), token),
            append=append,
        )

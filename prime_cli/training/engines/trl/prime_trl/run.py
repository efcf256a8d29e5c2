"""One training, from the model to its trained weights."""

import faulthandler
import os
import signal
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

import torch
from accelerate import PartialState
from datasets import Dataset
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer, GenerationConfig

from .adapters import adapters_of, require_layers
from .checkpoints import publish
from .config import Config, read_config
from .failures import Stopped, not_loaded, reason_of
from .generation import Generating
from .hub_upload import prepare_push, push
from .memory import forecast, most_turns, require_gpu, require_memory
from .policy import Policy
from .processes import join
from .reports import prepare_reports
from .rollouts import Rollouts, reward_of_environment
from .sampling import Sampler
from .service import Refused, Service
from .steps import Steps
from .supervised import SupervisedRows
from .tiny import NAME as TINY
from .tiny import write_tiny_model
from .trainer import WholeSftTrainer, WholeTrainer, training_arguments

_PROBED = 8


def main(path: str) -> int:
    """The exit code; any failure but a bug was reported to prime."""
    if sys.platform != "win32":
        faulthandler.register(signal.SIGUSR1, all_threads=True)
    service = Service()
    try:
        train(read_config(path), service, Path(os.environ["PRIME_RUN_FOLDER"]))
    except Refused as refused:  # prime knows why
        sys.stderr.write(f"{refused}\n")
        return 1
    except BaseException as error:  # noqa: BLE001 - the end of the program
        traceback.print_exc()
        if (reason := reason_of(error)) is not None:
            service.fail(reason.code, reason.message, reason.hint)
        return 1
    return 0


def train(config: Config, service: Service, folder: Path) -> None:
    """Train, evaluate before and after, and save; raises Stopped for what users must know."""
    require_gpu(config.gpus)
    processes = join(has_gpu=torch.cuda.is_available(), vllm=config.vllm)
    if config.vllm and not torch.cuda.is_available():
        # Compiled code would go on with the weights that vLLM has packed for the CPU at first.
        os.environ["TORCH_COMPILE_DISABLE"] = "1"
    prepare_reports(config, folder, processes)
    if processes.is_main_process:
        prepare_push(config)
    config = _with_model(config, processes, folder)
    tokenizer = load_tokenizer(config)
    ends = ends_of(config, tokenizer)
    kind = _kind_of(config)
    policy = Policy(tokenizer, seed=config.seed, most=config.max_tokens, ends=ends, kind=kind)
    rollouts = Rollouts(config, service, policy, processes, tokenizer.eos_token_id)
    rollouts.offer_policy()
    environment = service.environment()
    numbers = environment["numbers"] or list(range(environment["examples"]))
    rollouts.examples = numbers
    steps = Steps(config, service, rollouts, policy, processes)
    supervised = SupervisedRows(config, folder, tokenizer, service) if config.data else None
    longest = config.max_tokens * most_turns(environment)
    _say_forecast(config, longest, service, processes)
    trainer = load_trainer(
        config,
        folder,
        **_learned_from(supervised, rollouts, numbers, longest),
        processing_class=tokenizer,
        callbacks=[steps],
    )
    steps.trainer = trainer
    trainer.best = config.best
    rollouts.sampler = _sampler(config, trainer, tokenizer)
    if config.resume is None:
        if config.probe and processes.is_main_process:
            _probe_each(config, rollouts, environment, numbers)
        steps.evaluate(0)
    if supervised is not None:  # prime has left out what it evaluates on
        trainer.train_dataset = supervised.read(say=processes.is_main_process)
    if config.resume is not None and int(Path(config.resume).name) >= config.steps:
        # It was killed in its last evaluation: nothing is left to train.
        trainer._load_from_checkpoint(config.resume)  # noqa: SLF001
        trainer.state.global_step = config.steps
    else:
        trainer.train(resume_from_checkpoint=config.resume)
    if steps.finished or trainer.state.global_step >= config.steps:
        if processes.is_main_process:
            _save(trainer, tokenizer, folder)
        steps.evaluate(trainer.state.global_step)
        if processes.is_main_process:
            push(config, folder)
    processes.wait_for_everyone()


def _probe_each(
    config: Config, rollouts: Rollouts, environment: dict[str, Any], numbers: list[int]
) -> None:
    names = [each["name"] for each in environment["environments"]] or [""]
    for place, name in enumerate(names):
        own = [number for number in numbers if number % len(names) == place]
        _probe(config, rollouts, list(dict.fromkeys(own)), name)


def _say_forecast(config: Config, longest: int, service: Service, processes: PartialState) -> None:
    if config.data or not processes.is_main_process:
        return
    warning = forecast(config, longest)
    if warning is not None:
        service.say(warning)


def _learned_from(
    supervised: SupervisedRows | None, rollouts: Rollouts, numbers: list[int], longest: int
) -> dict[str, Any]:
    """What TRL's trainer learns from: rows, or rollouts of the examples of these numbers."""
    if supervised is not None:
        return {"longest": supervised.longest, "train_dataset": supervised.read()}
    dataset = Dataset.from_list([{"prompt": str(number)} for number in numbers])
    return {"longest": longest, "train_dataset": dataset, "rollout_func": rollouts}


def _with_model(config: Config, processes: PartialState, folder: Path) -> Config:
    """The config, whose model is there and fits into this machine; raises Stopped."""
    if config.model == TINY:
        config = replace(config, model=str(folder / "untrained"))
        if processes.is_main_process:
            write_tiny_model(Path(config.model), config.seed)
        if "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(1)  # so little work that threads would only wait for each other
    if processes.is_main_process:
        require_memory(config)
        require_layers(config)
    processes.wait_for_everyone()
    return config


def load_trainer(
    config: Config, folder: Path, *, longest: int | None = None, **options: Any
) -> WholeTrainer | WholeSftTrainer:
    """TRL's trainer with the model; raises Stopped if that has no weights, or spoilt ones.

    The `longest` row has so many tokens, else as many as an answer may have.
    """
    kind = WholeSftTrainer if config.data else WholeTrainer
    if not config.data:
        options["reward_funcs"] = reward_of_environment
    try:
        return kind(
            run_folder=folder,
            keep=config.keep,
            model=config.model,
            args=training_arguments(config, folder, longest or config.max_tokens),
            peft_config=adapters_of(config),
            **options,
        )
    except (OSError, SafetensorError) as error:
        raise reason_of(error) or not_loaded(error) from error


def _sampler(config: Config, trainer: Any, tokenizer: Any) -> Sampler:
    ends = ends_of(config, tokenizer)
    if config.vllm:
        from .colocated import ColocatedVllm

        return ColocatedVllm(trainer, ends)
    model = trainer.accelerator.unwrap_model
    return Generating(lambda: model(trainer.model), tokenizer, ends)


def _kind_of(config: Config) -> str:
    trust = config.trust_remote_code
    return str(AutoConfig.from_pretrained(config.model, trust_remote_code=trust).model_type)


def ends_of(config: Config, tokenizer: Any) -> list[int]:
    """The ids that end an answer: that of the tokenizer, and those of generation_config.json."""
    try:
        found = GenerationConfig.from_pretrained(config.model).eos_token_id
    except OSError:  # it has none
        found = None
    named = found if isinstance(found, list) else [found]
    return sorted({each for each in (*named, tokenizer.eos_token_id) if each is not None})


def _probe(config: Config, rollouts: Rollouts, numbers: list[int], environment: str) -> None:
    """Raise Stopped if the rewards of the first examples teach nothing.

    The `environment` has a name if there are several.
    """
    groups = [(number, config.group) for number in numbers[:_PROBED]]
    found = rollouts.ask(groups, "probe", {"step": 0, "probe": True})
    nothing = f"Nothing to learn from in {environment}" if environment else "Nothing to learn from"
    _require_spread([rollout["reward"] for rollout in found], config.group, nothing)


def _require_spread(rewards: list[float | None], group: int, nothing: str) -> None:
    groups = [rewards[start : start + group] for start in range(0, len(rewards), group)]
    if any(len({each for each in one if each is not None}) > 1 for one in groups):
        return
    scored = {each for each in rewards if each is not None}
    if not scored:
        raise Stopped(
            "gate_failed",
            f"{nothing}: none of {len(rewards)} rollouts of the probe has a reward",
            "see their errors with `prime eval view`",
        )
    if len(scored) == 1:
        what = f"every rollout of the probe earned {scored.pop():g}"
    else:
        what = "in each group of the probe all rollouts earned the same"
    raise Stopped(
        "gate_failed",
        f"{nothing}: {what}",
        "choose easier examples, a better model or a finer reward; `--no-probe` trains anyway",
    )


def load_tokenizer(config: Config) -> Any:
    """The model's; raises Stopped if it has none, or no chat template."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            config.model, trust_remote_code=config.trust_remote_code
        )
    except (OSError, ValueError) as error:
        raise not_loaded(error) from error
    if not tokenizer.encode("a"):  # transformers makes an empty one of no files
        raise Stopped(
            "not_found",
            f"{config.model} has no tokenizer",
            "add tokenizer.json and tokenizer_config.json to its folder",
        )
    if tokenizer.chat_template is None:
        raise Stopped(
            "usage",
            f"{config.model} has no chat template, so it cannot be asked as a chat model",
            "train an instruct model, or add chat_template.jinja to its folder",
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _save(trainer: Any, tokenizer: Any, folder: Path) -> None:
    """Write the trained weights to `model/`, adapters merged into them."""
    aside = folder / "checkpoints" / ".tmp-model"
    model = trainer.accelerator.unwrap_model(trainer.model)
    if hasattr(model, "merge_adapter"):
        model.merge_adapter()
        state = {
            name.replace(".base_layer", ""): value
            for name, value in model.get_base_model().state_dict().items()
            if ".lora_" not in name
        }
        model.get_base_model().save_pretrained(aside, state_dict=state)
        model.unmerge_adapter()
    else:
        model.save_pretrained(aside)
    tokenizer.save_pretrained(aside)
    publish(aside, folder / "model")
    trainer.remove_old_checkpoints()

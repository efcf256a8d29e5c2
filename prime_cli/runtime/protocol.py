"""Messages between a run and its worker: one JSON object per line, tagged by `t`.

The parent writes a Spec, later Cancel and OracleAsk, on a pipe; closing it means "die now". The
worker writes events on another one, so that an environment's output can never be mistaken for one,
and no environment reads messages from its stdin. The worker's side (`runtime/worker`) is standard
library only and builds the same objects by hand; unknown fields are ignored by both, so either may
add some.
"""

from typing import Any, Literal

import msgspec

PROTOCOL = 1

ErrorClass = Literal["infra", "model", "environment"]
Stage = Literal["import", "load", "arguments", "examples", "harness", "data", "run", "interrupted"]


class WorkerSpec(msgspec.Struct, tag_field="t", tag="spec", kw_only=True, frozen=True):
    """Everything a worker needs to run an environment; the first message.

    `n` examples (-1: all) with `r` rollouts each, at most `concurrency` rollouts at a time.
    `done` lists the (example, rollout) pairs that need not run; `attempts` the number of the
    attempt to start with for a pair "example.rollout" (1 where it is not named). Where the sha256
    of the first `prefix` examples is not `fingerprint`, the worker ends at the stage "data" before
    it calls a model.
    `args` are load_environment's keywords (v1: the taskset's knobs), `extra` is set on the loaded
    environment (v1: the env section of its config). `base_url` and `token` are the gateway's;
    with `socket` it is reached over that Unix socket instead. `harness` is a v1 harness by id for
    every agent; None takes the environment's own. `uv` is the folder of a uv, for harnesses that
    fetch packages, which none may where `offline`. Without `answers` the gold answers stay with the
    worker. For `prime env check`, `first` runs only so many of the n examples, `survey` asks for a
    Survey, `watch_network` for a Network event also where a name is only looked up. `compared` asks
    what its splits have in common, and have of the texts with these hashes (see
    `runtime/worker/overlap.py`). `only_gateway` refuses connections to anything else; without
    `has_network` there are none. `saved` is a file of rollouts that are scored in place of running
    any (v0); with `run_rest` the others are run. With `follow` the worker runs nothing of its own
    accord, but what RunRollouts messages name. `program` is one of verifiers' that runs in place of
    rollouts (v1): a `name`, and what it is given. `options` are flags of `prime eval run` without a
    field of their own, by name. `withheld` names variables of the user's that look like secrets,
    `left_out` others that are not given: what the code asks for of them becomes AskedVariable
    events. Seconds: `timeout_s` for one rollout with its scoring, `score_s` for its scoring,
    `blocked_s` for code that never awaits; None is no limit.
    """

    module: str
    env_id: str
    model: str
    base_url: str
    token: str
    generation: Literal["v0", "v1"] = "v0"
    protocol: int = PROTOCOL
    args: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    sampling: dict[str, Any] = {}
    n: int = 5
    r: int = 3
    concurrency: int = 32
    seed: int | None = None
    socket: str | None = None
    done: list[tuple[int, int]] = []
    prefix: int = 0
    fingerprint: str | None = None
    attempts: dict[str, int] = {}
    state_columns: list[str] = []
    max_retries: int = 0
    call_retries: int = 5
    timeout_s: float | None = None
    score_s: float | None = None
    blocked_s: float | None = None
    independent_scoring: bool = False
    harness: str | None = None
    answers: bool = True
    pythonpath: list[str] = []
    first: int | None = None
    survey: bool = False
    watch_network: bool = False
    only_gateway: bool = False
    has_network: bool = True
    saved: str | None = None
    run_rest: bool = False
    offline: bool = False
    uv: str | None = None
    withheld: list[str] = []
    left_out: list[str] = []
    options: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    follow: bool = False
    program: dict[str, Any] | None = None
    compared: list[str] | None = None


class Cancel(msgspec.Struct, tag_field="t", tag="cancel", frozen=True):
    """Start nothing new, give up what is in flight, say End(stage="interrupted")."""


class OracleAsk(msgspec.Struct, tag_field="t", tag="oracle", frozen=True):
    """What would the environment's own oracle answer to these messages?"""

    id: int
    example: int
    messages: list[Any]
    tools: list[Any] = []


class RunRollouts(msgspec.Struct, tag_field="t", tag="run", frozen=True):
    """Run these rollouts of an example soon, their attempts counting from `attempt`.

    A group environment scores them together. With `WorkerSpec.follow` numbers are not reused.
    """

    example: int
    rollouts: list[int]
    attempt: int = 1


class DropRollouts(msgspec.Struct, tag_field="t", tag="drop", frozen=True):
    """Give up these rollouts, and the groups that they are in; no Rollout follows for them."""

    example: int
    rollouts: list[int]


class Finish(msgspec.Struct, tag_field="t", tag="finish", frozen=True):
    """End once everything that was asked for is done; with `WorkerSpec.follow`, or to a program
    that waits.
    """


class Steer(msgspec.Struct, tag_field="t", tag="steer", frozen=True):
    """From now on: `concurrency` rollouts at a time (None: as before), none of them while `held`.

    Deadlines do not count while `held`. What `draining` has not begun is not begun any more.
    """

    concurrency: int | None = None
    held: bool = False
    draining: bool = False


Order = RunRollouts | DropRollouts | Steer | Finish
"""What a worker is told while it runs."""


class RolloutError(msgspec.Struct, rename={"kind": "class"}, kw_only=True):
    """Why a rollout has no reward. `kind` (on the wire: `class`) says whose fault it is:
    `infra` (endpoint down, rate limit, sandbox), `model` (refused or unusable answers) or
    `environment` (its own code raised). `in_scoring`: the model had said all by then.
    """

    kind: ErrorClass
    type: str
    message: str
    retryable: bool = False
    traceback: str | None = None
    in_scoring: bool | None = None


class EndError(msgspec.Struct, kw_only=True):
    """The exception that ended a worker."""

    type: str
    message: str
    traceback: str | None = None


class ReportedUsage(msgspec.Struct, kw_only=True):
    """Tokens, as the model's answers counted them; the gateway's count is the better one."""

    input: int = 0
    output: int = 0


class Hello(msgspec.Struct, tag_field="t", tag="hello", kw_only=True):
    """The worker is alive; nothing of the environment has been imported yet."""

    protocol: int
    pid: int
    python: str
    verifiers: str | None = None
    generation: Literal["v0", "v1"] = "v0"
    family: str | None = None
    env_version: str | None = None


class AgentInfo(msgspec.Struct, kw_only=True):
    """What plays one agent of a v1 environment: a harness by its id, in a type of runtime.

    `in_process` says that the harness runs in the worker. `instead_of` is the runtime that
    verifiers would have taken by default, where that is another one. `runs_commands` says that the
    model may run shell commands there.
    """

    name: str
    harness: str
    runtime: str
    in_process: bool = False
    instead_of: str | None = None
    runs_commands: bool = False


class JudgeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A judge that an environment declares: its model, and digests of its prompt and sampling."""

    model: str
    prompt: str
    sampling: str


class Start(msgspec.Struct, tag_field="t", tag="start", kw_only=True):
    """The environment is loaded and rollouts begin.

    `planned` counts all n * r rollouts, `owed` those that were not in `WorkerSpec.done`.
    `answers` maps an example's index to its gold answer, where it has one. `fingerprint` is the
    sha256 of the examples in order. `agents` play a v1 environment, and `harness` says the same in
    words (`null, in-process`); None for v0. `weights` are those of the reward
    functions; None where they cannot be told, or no survey was asked for. `numbers` are those of
    the examples in order, None where they count from 0. `said` are choices that the worker made.
    `has_eval` is whether an environment that trains has other data for evaluation; None where that
    is unknown. `max_turns` are the most of a rollout; None where that is unlimited or unknown.
    `rules` are the file and line of reward functions, sent with `weights`. `judges` are those that
    the environment declares.
    """

    examples: int
    planned: int
    unit: Literal["rollout", "group", "episode"]
    owed: int = 0
    family: str | None = None
    harness: str | None = None
    agents: list[AgentInfo] = []
    concurrency: int = 0
    answers: dict[str, Any] = {}
    oracle: bool = False
    fingerprint: str = ""
    weights: dict[str, float] | None = None
    load_s: float = 0.0
    numbers: list[int] | None = None
    said: list[str] = []
    has_eval: bool | None = None
    max_turns: int | None = None
    rules: dict[str, tuple[str, int]] = {}
    judges: list[JudgeInfo] = []


class Overlap(msgspec.Struct, kw_only=True):
    """What splits have in common, and of a benchmark: as `runtime/worker/overlap.py` returns it.

    `why` is what prevented reading them.
    """

    examples: dict[str, int] = {}
    shared: dict[str, int] = {}
    pairs: list[tuple[str, int, str, int]] = []
    known: dict[str, int] = {}
    hits: list[tuple[str, int, int]] = []
    why: str | None = None


class Survey(msgspec.Struct, tag_field="t", tag="survey", kw_only=True):
    """What the examples show by themselves; `runtime/worker/examples.py` says what is counted.

    `named` holds the indices of the first few examples behind each of the `counts`.
    """

    examples: int
    answered: int
    counts: dict[str, int] = {}
    named: dict[str, list[int]] = {}
    overlap: Overlap | None = None


class HostConnected(msgspec.Struct, tag_field="t", tag="network", kw_only=True):
    """The environment connected to a host beside the gateway, for the first time in this phase.

    `host` is `localhost` for a server of this machine that the environment has not started. A
    `proxy` is one that the variables of the process name. What was `refused` came to nothing.
    """

    phase: Literal["load", "rollout"]
    host: str
    port: int | None = None
    proxy: bool = False
    refused: bool = False


class AskedVariable(msgspec.Struct, tag_field="t", tag="asked", kw_only=True):
    """The code asked for a variable that is set and was not given, for the first time.

    `by` is the top-level module that asked. With a `host` the gateway's token, which stands in for
    the variable, was sent to that host and refused there.
    """

    name: str
    by: str | None = None
    host: str | None = None


class Rollout(msgspec.Struct, tag_field="t", tag="rollout", kw_only=True):
    """One finished rollout. `reward` is None exactly when `error` is set; `timing` in seconds;
    tool calls in the messages are objects. `example_id` is the index in the dataset. `again` is
    why this worker made more than one attempt: `infra`, or `group` for the others of a group.
    """

    example_id: int
    rollout: int
    attempt: int = 1
    again: str | None = None
    reward: float | None = None
    metrics: dict[str, float | None] = {}
    prompt: Any = None
    completion: Any = None
    answer: Any = None
    info: Any = None
    task: Any = None
    error: RolloutError | None = None
    timing: dict[str, float] = {}
    usage: ReportedUsage | None = None
    stop_condition: str | None = None
    is_truncated: bool = False
    state: dict[str, Any] = {}


class OracleReply(msgspec.Struct, tag_field="t", tag="oracle", kw_only=True):
    """The oracle's assistant message, or why there is none."""

    id: int
    message: dict[str, Any] | None = None
    error: str | None = None


class LogMessage(msgspec.Struct, tag_field="t", tag="log", kw_only=True):
    """A sentence for the person who runs this."""

    text: str


class WorkerEnd(msgspec.Struct, tag_field="t", tag="end", kw_only=True):
    """The worker's last word; without it, the worker died."""

    ok: bool
    stage: Stage | None = None
    error: EndError | None = None


class ProgramFound(msgspec.Struct, tag_field="t", tag="program", kw_only=True):
    """What the program of verifiers that the spec names found, of one example if it looks at each.

    If it `waits`, it goes on with Finish.
    """

    found: dict[str, Any]
    example: int = 0
    waits: bool = False


class Caution(msgspec.Struct, tag_field="t", tag="caution", kw_only=True):
    """What the environment's own code warned of while it loaded or in its first rollouts."""

    text: str


Event = (
    Hello
    | Start
    | Survey
    | HostConnected
    | AskedVariable
    | Rollout
    | OracleReply
    | LogMessage
    | Caution
    | ProgramFound
    | WorkerEnd
)

_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def decode_event(line: bytes) -> Event:
    """One line of a worker as an event; raises msgspec.DecodeError if it is invalid."""
    try:
        return _decoder.decode(line)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def encode_message(message: WorkerSpec | Cancel | OracleAsk | Order) -> bytes:
    """A message to a worker, with its newline."""
    return msgspec.json.encode(message) + b"\n"

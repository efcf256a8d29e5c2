"""`prime env verify`."""

from typing import Annotated

import typer

from prime_cli.commands.contract import NETWORK, RUNS_CODE
from prime_cli.commands.options import YES, VersionOpt, at_version, hub_options, open_session
from prime_cli.core.errors import ExitCode
from prime_cli.core.formatting import pluralize
from prime_cli.envs.names import resolve_name
from prime_cli.envs.signatures.versions import format_verdict
from prime_cli.envs.verify import Verification, require_same, verify_environment


@hub_options(YES, answer=Verification, effects=(NETWORK, RUNS_CODE), exits=ExitCode.GATE)
def verify(
    ctx: typer.Context,
    environment: Annotated[
        str, typer.Argument(metavar="OWNER/NAME[@VERSION]", help="The environment.")
    ],
    version: VersionOpt = None,
    require_signature: Annotated[
        bool,
        typer.Option("--require-signature", help="Fail without a signature by a trusted signer."),
    ] = False,
) -> None:
    """Rebuild a published wheel from source and compare the two.

    Compares them member by member; reports but ignores differences that depend only on the
    builder. Exits 1 if something differs, 9 if the sources do not build.

    \b
    Example:
      prime env verify starter/alphabet-sort
      prime env verify ada/wordle@1.2 --require-signature --output json
    \b
    See also: `prime env info`, `prime env signers`, `prime env install`.
    """
    session = open_session(ctx)
    ref = at_version(resolve_name(session.hub, environment, progress=session.progress), version)
    found = verify_environment(
        session.hub,
        ref,
        trust=session.trust_policy(require_signature=require_signature),
        progress=session.progress,
        offline=session.config.offline,
    )
    session.output.show(found, lines=_lines(found))
    require_same(found)


def _lines(found: Verification) -> list[tuple[str, str]]:
    lines = [
        ("environment", found.environment),
        ("wheel", found.wheel),
        ("sha256", found.wheel_sha256),
        ("rebuilt", found.rebuilt_sha256),
        ("result", _result(found)),
        ("differs", "\n".join(f"{each.member}: {each.found}" for each in found.differences)),
        ("passed over", "\n".join(found.normalised)),
        ("signed", "\n".join(map(format_verdict, found.signatures)) or "no"),
    ]
    return [(label, text) for label, text in lines if text]


def _result(found: Verification) -> str:
    if not found.same:
        return pluralize(len(found.differences), "difference")
    return "the same bytes" if found.identical else "the same content"

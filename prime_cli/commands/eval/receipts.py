"""`prime eval verify` and `prime eval sign`."""

from pathlib import Path
from typing import Annotated

import typer

from prime_cli.commands.contract import WRITES
from prime_cli.commands.options import local_options, open_session
from prime_cli.core.errors import ExitCode
from prime_cli.envs.signatures.versions import format_verdict
from prime_cli.evals.sharing.receipts import (
    ReceiptVerification,
    require_valid,
    sign_receipt,
    verify_receipt,
)
from prime_cli.runs.listing import find_run


@local_options(answer=ReceiptVerification, exits=(ExitCode.GATE, ExitCode.NOT_ALLOWED))
def verify(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|FILE]",
            help="A run's id, its folder, or a receipt.json.",
            show_default="the newest here",
        ),
    ] = None,
    require_signature: Annotated[
        bool,
        typer.Option("--require-signature", help="Fail without a signature by a trusted signer."),
    ] = False,
) -> None:
    """Verify the receipt of a saved evaluation.

    Computes every digest in receipt.json again, from the files beside it, and says what that proves
    and what it cannot. Exits 1 if a file was changed. Needs no network.

    \b
    Example:
      prime eval verify
      prime eval verify 1f2e3d4c --require-signature
      prime eval verify downloads/receipt.json --output json
    \b
    See also: `prime eval sign`, `prime eval push`, `prime env signers`.
    """
    session = open_session(ctx)
    file = Path(run) if run is not None else None
    path = file if file is not None and file.is_file() else find_run(run, Path.cwd()).folder.path
    with session.progress.task("Verifying the receipt"):
        found = verify_receipt(path, session.config.home.value)
    session.output.show(found, lines=_lines(found))
    require_valid(found, signed=require_signature)


@local_options(answer=ReceiptVerification, effects=WRITES, exits=ExitCode.GATE)
def sign(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(help="A run's id or its folder.", show_default="the newest here"),
    ] = None,
    *,
    key: Annotated[
        str,
        typer.Option(
            "--key", metavar="KEY|sigstore", help="An SSH key, or the identity of a CI job."
        ),
    ],
) -> None:
    """Sign the receipt of a saved evaluation.

    The receipt is verified first. Whoever trusts the key with `prime env signers` sees in
    `prime eval verify` that you made the run.

    \b
    Example:
      prime eval sign --key ~/.ssh/id_ed25519
      prime eval sign 1f2e3d4c --key sigstore
    \b
    See also: `prime eval verify`, `prime eval push`.
    """
    session = open_session(ctx)
    folder, home = find_run(run, Path.cwd()).folder, session.config.home.value
    sign_receipt(folder, key, home)
    found = verify_receipt(folder.path, home)
    session.output.show(found, lines=_lines(found))


def _lines(found: ReceiptVerification) -> list[tuple[str, str]]:
    planned = f" of {found.planned:,}" if found.planned is not None else ""
    lines = [
        ("Run", found.run_id),
        ("Receipt", found.receipt),
        ("Result", "valid" if found.valid else "not valid"),
        ("Problems", "\n".join(found.problems)),
        ("Rollouts", f"{found.rollouts:,}{planned}"),
        ("Signed", "\n".join(map(format_verdict, found.signatures)) or "no"),
        ("Proves", "\n".join(found.proves)),
        ("Does not prove", "\n".join(found.does_not_prove)),
    ]
    return [(label, text) for label, text in lines if text]

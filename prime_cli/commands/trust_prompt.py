"""The question whether to trust a new owner, for every command that runs code."""

from pathlib import Path

from prime_cli.envs.trust import TrustPolicy, UntrustedOwner, refuse_untrusted, trust_policy_from
from prime_cli.session import Session
from prime_cli.terminal.output import Output


def trust_policy_of(session: Session, *, require_signature: bool = False) -> TrustPolicy:
    """What decides about strangers in this invocation: settings, list, a person, or `--yes`."""
    return trust_policy_from(
        session.config,
        Path.cwd(),
        ask=lambda untrusted: ask_to_trust(untrusted, session.output),
        yes=session.yes,
        require_signature=require_signature,
    )


def ask_to_trust(untrusted: UntrustedOwner, output: Output) -> bool:
    """Say whose code it is and what trusting means, and ask.

    Raises Declined after a no, NotTrusted where nobody can be asked.
    """
    if not output.is_interactive:
        return refuse_untrusted(untrusted)
    ref, what = untrusted.ref, "has no wheel and would be built here"
    if untrusted.sha256:
        what = f"has sha256 {untrusted.sha256}"
    output.warn(f"`{ref.owner}` on {untrusted.hub} is new here; {ref} {what}")
    output.tell(
        "Its code and its dependencies would run as you, with access to your files and network."
    )
    output.confirm(
        f"Trust `{ref.owner}` on this hub from now on?",
        otherwise=f"`{ref.owner}` is not trusted, so nothing was done",
    )
    return True

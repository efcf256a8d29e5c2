"""Signatures beside a version. The hub looks at their form: whom to believe, clients decide."""

from sqlalchemy import delete, insert, select

from prime_cli.core.errors import IntegrityError, NotFound, UsageError
from prime_cli.core.refs import EnvRef
from prime_cli.hub.context import Caller, Hub
from prime_cli.hub.db.tables import signatures
from prime_cli.hub.services.access import find_environment, require_owner
from prime_cli.hub.services.audit import record
from prime_cli.hub.services.serial import raise_serial
from prime_cli.hub.services.versions import find_version
from prime_cli.wire.codec import decode, encode
from prime_cli.wire.locks import LONGEST_SIGNATURE, MOST_SIGNATURES, Signature, Signatures

MOST_BYTES = MOST_SIGNATURES * LONGEST_SIGNATURE + 4096
_SSH = ("-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n")


def get_signatures(hub: Hub, caller: Caller, ref: EnvRef) -> Signatures:
    """The signatures of a version; raises NotFound when it has none."""
    with hub.database.read() as connection:
        environment = find_environment(connection, caller, ref)
        version = find_version(connection, environment, ref.wire_version)
        body = connection.execute(
            select(signatures.c.body).where(signatures.c.version_id == version.id)
        ).scalar()
    if body is None:
        raise NotFound(f"`{ref.slug}@{version.semantic_version}` is not signed")
    return decode(body.encode(), Signatures)


def put_signatures(hub: Hub, caller: Caller, ref: EnvRef, given: Signatures) -> Signatures:
    """Keep the signatures of a version, in place of those it had; none takes them away.

    Raises IntegrityError when they are about another wheel, UsageError for what is no signature,
    NotAllowed for somebody else's.
    """
    for each in given.signatures:
        _check(each)
    with hub.database.write() as connection:
        environment = find_environment(connection, caller, ref)
        require_owner(caller, environment)
        version = find_version(connection, environment, ref.wire_version)
        target = f"{ref.slug}@{version.semantic_version}"
        if given.wheel_sha256 != version.wheel_sha256:
            raise IntegrityError(f"The signatures are of another wheel than `{target}`")
        connection.execute(delete(signatures).where(signatures.c.version_id == version.id))
        count = len(given.signatures)
        if count:
            values = {"number": count, "body": encode(given).decode(), "updated_at": hub.now()}
            connection.execute(insert(signatures).values(version_id=version.id, **values))
        record(hub, connection, caller, "version.sign", target, signatures=count)
        raise_serial(connection, environment.id)
    return given


def _check(signature: Signature) -> None:
    body = signature.body
    if signature.kind == "ssh":
        begin, end = _SSH
        if not (body.isascii() and body.startswith(begin) and body.endswith(end)):
            raise UsageError("A signature of the kind `ssh` is what `ssh-keygen -Y sign` writes")
    elif not isinstance(decode(body.encode(), object), dict):
        raise UsageError("A signature of the kind `pep740` is the JSON of an attestation")

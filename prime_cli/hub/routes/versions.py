"""Documents beside a version, and yanking."""

from typing import Any

from starlette.requests import Request

from prime_cli.hub.dispatch import call
from prime_cli.hub.routes.requests import ref_of, ref_to_read
from prime_cli.hub.routes.router import Router
from prime_cli.hub.services import versions
from prime_cli.hub.services.version_documents import get_document, put_document
from prime_cli.wire.environments import YankReply, YankRequest
from prime_cli.wire.version_documents import DOCUMENT_KINDS, DocumentKind

router = Router()

_VERSION = "/environmentshub/{owner}/{name}/@{version}"


# --- Documents ---


def _declare(kind: DocumentKind[Any]) -> None:
    """The routes of one kind of document."""
    path = f"{_VERSION}/{kind.path}"

    @router.get(path, f"Get the {kind.title} of a version", answers=kind.document_type)
    async def get(request: Request) -> Any:
        return await call(request, get_document, await ref_to_read(request), kind)

    @router.put(
        path,
        f"Store the {kind.title} of a version",
        takes=kind.document_type,
        answers=kind.reply_type,
        needs_key=True,
        most_bytes=kind.most_bytes,
    )
    async def put(request: Request, body: Any) -> Any:
        return await call(request, put_document, ref_of(request), kind, body)


for _kind in DOCUMENT_KINDS:
    _declare(_kind)


# --- Yanking ---


@router.post(
    _VERSION + "/yank", "Yank a version: installers skip it unless it is pinned", needs_key=True
)
async def yank(request: Request, body: YankRequest) -> YankReply:
    return await call(request, versions.yank_version, ref_of(request), body.reason)


@router.post(_VERSION + "/unyank", "Unyank a version", needs_key=True)
async def unyank(request: Request) -> YankReply:
    return await call(request, versions.unyank_version, ref_of(request))

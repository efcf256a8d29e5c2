"""Absolute URLs in responses, and the routes that they lead to."""

from urllib.parse import quote, urlsplit

API = "/api/v1"
FILES = "/files/{owner}/{name}/{sha256}/{filename}"
UPLOAD = "/upload/{token}"
SANDBOX_GATEWAY = "/gateway"
LOGIN_PAGE = "/dashboard/tokens/challenge"
SESSION_PAGE = "/login"
SIGN_OUT = "/logout"
ACCOUNT_PAGE = "/dashboard/account"
API_PAGE = "/docs"
SIGN_IN_PAGE = f"{LOGIN_PAGE}/oidc"
SIGN_IN_RETURN = f"{SIGN_IN_PAGE}/callback"

_PAGES = ("/dashboard/", f"{SESSION_PAGE}/")


def is_page(path: str) -> bool:
    """Whether a path is that of a page for people, where the cookie of a session counts."""
    return path in ("/", API_PAGE, SESSION_PAGE, SIGN_OUT) or path.startswith(_PAGES)


def file_url(base: str, owner: str, name: str, sha256: str, filename: str) -> str:
    """The download URL of a wheel or source archive; the last part is its real filename."""
    return base + FILES.format(
        owner=quote(owner), name=quote(name), sha256=sha256, filename=quote(filename)
    )


def path_of(url: str) -> str:
    """An absolute URL without its origin, as index pages name files.

    So it leads to the host that the page came from, whatever its name there, and installers send
    the index's credentials along.
    """
    return urlsplit(url).path


def upload_url(base: str, token: str) -> str:
    """The URL to PUT one artefact to, which is itself the permission."""
    return base + UPLOAD.format(token=token)


def index_url(base: str, owner: str) -> str:
    """The root of an owner's package index, for `--extra-index-url`."""
    return f"{base}/{quote(owner)}/simple/"


def evaluation_url(base: str, evaluation_id: str) -> str:
    """The page of an evaluation."""
    return f"{base}/dashboard/evaluations/{quote(evaluation_id)}"

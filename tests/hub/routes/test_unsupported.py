import httpx
import pytest

from prime_cli.hub.routes.unsupported import routes

_NO_CREDENTIALS = "This hub keeps no credentials of image registries"
_NO_ACTIONS = "This hub runs no actions for environments; use `prime env check`"


@pytest.mark.parametrize(
    ("method", "path", "sentence"),
    [
        ("GET", "/billing/wallet", "This hub has no billing"),
        ("GET", "/tunnel", "This hub has no tunnels"),
        ("GET", "/rft/models", "This hub trains no models"),
        ("POST", "/training/runs", "This hub trains no models"),
        ("POST", "/hosted-evaluations", "This hub runs no evaluations; use `prime eval run`"),
        ("DELETE", "/images/one", "This hub builds no images"),
        ("GET", "/template/registry-credentials", _NO_CREDENTIALS),
        ("POST", "/template/check-docker-image", _NO_CREDENTIALS),
        ("GET", "/environmentshub/ada/wordle/actions", _NO_ACTIONS),
        ("GET", "/environmentshub/ada/wordle/actions/1/logs", _NO_ACTIONS),
    ],
)
def test_what_this_hub_does_not_do_is_said_and_not_an_empty_list(
    client: httpx.Client, method: str, path: str, sentence: str
) -> None:
    answer = client.request(method, f"/api/v1{path}")
    assert (answer.status_code, answer.json()["detail"]) == (501, sentence)


def test_other_addresses_and_methods_are_refused_as_ever(client: httpx.Client) -> None:
    assert client.get("/api/v1/nothing").status_code == 404
    assert client.delete("/api/v1/user/whoami").status_code == 405
    # Beside an address that is unsupported, one that is not.
    assert client.get("/api/v1/hosted-evaluations/none/logs").status_code == 404


def test_the_first_part_of_each_is_not_an_area_of_this_hub(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    served = {path.removeprefix("/api/v1/").partition("/")[0] for path in paths}
    areas = {route.path.removesuffix("{path:path}").split("/")[1] for route in routes()}
    assert areas & served <= {"environmentshub", "hosted-evaluations", "sandbox"}

"""The part of the public wire that is about evaluations, also from the schema that it publishes."""

from tests.helpers.exchanges import Body, Exchange, keys

_EVALUATION = {
    "evaluation_id": "ev_2ca27546",
    "name": "ada/tiny-v18-openai/gpt-4.1-mini",
    "status": "COMPLETED",
    "environment_names": ["tiny-v18"],
    "model_name": "openai/gpt-4.1-mini",
    "framework": "verifiers",
    "tags": [],
    "metadata": {"num_examples": 2, "rollouts_per_example": 1},
    "metrics": {"reward": 0.5},
    "is_public": False,
}
_ROOT = "/api/v1/evaluations"
_ONE = f"{_ROOT}/{{}}"
_DESCRIBED = keys("model_name dataset framework task_type description metadata metrics")

EXCHANGES = (
    Exchange(
        "POST",
        f"{_ROOT}/",
        {"evaluation_id": "ev_2ca27546", "status": "PENDING"},
        body=Body(
            keys("name tags"),
            _DESCRIBED | keys("environments suite_id run_id team_id is_public"),
        ),
    ),
    Exchange("POST", f"{_ONE}/samples", {"samples_pushed": 2}, body=Body(keys("samples"))),
    Exchange(
        "POST",
        f"{_ONE}/finalize",
        {"evaluation_id": "ev_2ca27546", "status": "COMPLETED"},
        body=Body(frozenset(), keys("metrics")),
    ),
    Exchange(
        "GET",
        f"{_ROOT}/",
        {"evaluations": [_EVALUATION], "total": 1},
        query=keys("skip limit environment_name suite_id team_id"),
    ),
    Exchange("GET", _ONE, _EVALUATION),
    Exchange(
        "GET",
        f"{_ONE}/samples",
        {
            "evaluation_id": "ev_2ca27546",
            "samples": [{"example_id": 0}],
            "total": 1,
            "page": 1,
            "limit": 100,
            "total_pages": 1,
        },
        query=keys("page limit"),
    ),
    Exchange("GET", "/api/v1/hosted-evaluations/{}/logs", {"logs": "one\ntwo\n"}),
    Exchange(
        "PUT",
        _ONE,
        {"evaluation_id": "ev_2ca27546"},
        body=Body(frozenset(), _DESCRIBED | keys("name tags status error_message")),
    ),
    Exchange("DELETE", _ONE, {"message": "Deleted"}),
)

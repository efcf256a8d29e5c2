"""Requests about sandboxes that the public hub is known to take, and their answers.

As its published description has them, and releases of the official client from 0.2.12 send them.
"""

from tests.helpers.exchanges import Body, Exchange, keys

_ROOT = "/api/v1/sandbox"
SANDBOX = {
    "id": "sbx_1",
    "name": "python-311-slim-a1b2",
    "dockerImage": "python:3.11-slim",
    "startCommand": "tail -f /dev/null",
    "cpuCores": 1,
    "memoryGB": 2,
    "diskSizeGB": 5,
    "diskMountPath": "/sandbox-workspace",
    "gpuCount": 0,
    "status": "RUNNING",
    "timeoutMinutes": 60,
    "environmentVars": {"A": "1"},
    "labels": ["mine"],
    "createdAt": "2026-11-21T02:16:21Z",
    "updatedAt": "2026-11-21T02:16:30Z",
    "startedAt": "2026-11-21T02:16:30Z",
    "terminatedAt": None,
    "exitCode": None,
    "errorType": None,
    "errorMessage": None,
    "userId": "user_1",
    "teamId": None,
    "kubernetesJobId": "job-1",
}
_OPTIONAL = keys(
    "start_command cpu_cores memory_gb disk_size_gb gpu_count gpu_type vm network_access "
    "network_allowlist network_denylist timeout_minutes idle_timeout_minutes environment_vars "
    "secrets labels team_id advanced_configs registry_credentials_id region guaranteed "
    "idempotency_key"
)

_EGRESS = {
    "policy": {"allowlist": ["pypi.org"], "denylist": None},
    "generation": 2,
    "applied_generation": 2,
    "applied": True,
}

EXCHANGES = (
    Exchange("POST", _ROOT, SANDBOX, body=Body(keys("name docker_image"), _OPTIONAL)),
    Exchange(
        "GET",
        _ROOT,
        {"sandboxes": [SANDBOX], "total": 1, "page": 1, "perPage": 50, "hasNext": False},
        query=keys("team_id user_id status is_active labels page per_page"),
    ),
    Exchange(
        "DELETE",
        _ROOT,
        {"succeeded": ["sbx_1"], "failed": [], "message": "1 terminated"},
        body=Body(keys(""), keys("sandbox_ids labels team_id user_id all_users")),
    ),
    Exchange("GET", f"{_ROOT}/{{}}", SANDBOX),
    Exchange("DELETE", f"{_ROOT}/{{}}", {"success": True, "message": "terminated"}),
    Exchange(
        "POST",
        f"{_ROOT}/{{}}/auth",
        {
            "token": "t",
            "gateway_url": "https://gateway.example",
            "user_ns": "user-1",
            "job_id": "job-1",
            "expires_at": "2026-11-21T03:16:30Z",
        },
    ),
    Exchange("GET", f"{_ROOT}/{{}}/logs", {"logs": "started\n"}),
    Exchange(
        "GET",
        f"{_ROOT}/{{}}/error-context",
        {"status": "TERMINATED", "errorType": "OOM_KILLED", "errorMessage": "out of memory"},
    ),
    Exchange("GET", f"{_ROOT}/{{}}/egress-policy", _EGRESS),
    Exchange(
        "PUT",
        f"{_ROOT}/{{}}/egress-policy",
        _EGRESS,
        body=Body(keys(""), keys("allowlist denylist")),
    ),
)

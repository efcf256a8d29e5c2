"""Numbers of several processes, added up."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
from prime_cli.hub.serving.metrics import Metrics
metrics = Metrics()
metrics.count("/a", "GET", 200, seconds=0.1, sent=5, received=0)
metrics.uploads.inc()
if sys.argv[1] == "show":
    sys.stdout.write(metrics.render().decode())
"""
FORGET = """
import sys
from pathlib import Path
from prime_cli.hub.serving.metrics import Metrics, forget_dead_processes
forget_dead_processes(Path(sys.argv[1]))
sys.stdout.write(Metrics().render().decode())
"""


def run(folder: Path, script: str, argument: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, argument],
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def test_any_process_tells_the_numbers_of_all(tmp_path: Path) -> None:
    run(tmp_path, SCRIPT, "count")
    shown = run(tmp_path, SCRIPT, "show")
    assert 'prime_hub_requests_total{method="GET",route="/a",status="200"} 2.0' in shown
    assert "prime_hub_sent_bytes_total 10.0" in shown


def test_what_a_dead_process_had_under_way_is_forgotten(tmp_path: Path) -> None:
    run(tmp_path, SCRIPT, "count")
    shown = run(tmp_path, FORGET, str(tmp_path))
    assert "prime_hub_uploads_in_flight 0.0" in shown
    assert "prime_hub_sent_bytes_total 5.0" in shown

"""Print how many of the lines of each room of prime_cli the measured tests ran, and of all.

Reads `.coverage` in the working directory, which `pytest --cov` wrote.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import PurePath


def main() -> None:
    command = [sys.executable, "-m", "coverage", "json", "-q", "-o", "-"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    rooms: dict[str, list[dict[str, int]]] = defaultdict(list)
    for name, file in report["files"].items():
        inside = PurePath(name).parts[1:]
        rooms[inside[0] if len(inside) > 1 else "(root)"].append(file["summary"])
    for room, files in sorted(rooms.items()):
        show(room, files)
    show("all", [report["totals"]])


def show(room: str, files: list[dict[str, int]]) -> None:
    lines, run = (sum(file[key] for file in files) for key in ("num_statements", "covered_lines"))
    print(f"coverage {room:<14} {run / (lines or 1):6.1%} of {lines:6,} lines")


if __name__ == "__main__":
    main()

"""Every environment of tests/parity on every release, by its own evaluator and by prime.

    python benchmarks/parity/run.py [FAMILY …] [--case NAME]

Prints a line for each comparison as it is done, then the table. Ends with 1 where a difference is
not one on purpose, or where the run does not tell the user of it. Interpreters are kept in
PRIME_TEST_VENVS, if that is set, and made by uv from PyPI; nothing is pushed.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.parity.matrix import FAMILIES, Finding, run_cell


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", nargs="*", default=[each.name for each in FAMILIES])
    parser.add_argument("--case", help="only the one of this name")
    options = parser.parse_args()
    findings = []
    with tempfile.TemporaryDirectory(prefix="prime-parity-") as folder:
        os.environ["PRIME_HOME"] = f"{folder}/prime"
        os.environ["PRIME_UPSTREAM"] = "none"
        cells = [c for each in FAMILIES if each.name in options.family for c in each.cells()]
        for number, (release, case) in enumerate(cells):
            if options.case in (None, case.name):
                finding = run_cell(release, case, Path(folder) / str(number))
                print(row(finding) if finding.holds else str(finding), flush=True)
                findings.append(finding)
    print(
        "", "| verifiers | case | rows | errors there, here | differs | s there, here |", sep="\n"
    )
    print("|---|---|---|---|---|---|", *map(row, findings), sep="\n")
    print(f"load average {os.getloadavg()[0]:.1f}")
    return 0 if all(finding.holds for finding in findings) else 1


def row(finding: Finding) -> str:
    """A line of the table."""
    theirs, ours = finding.theirs.rows, finding.ours.rows
    found, case = finding.differences, finding.case
    differs = "no"
    if case.differs is not None:
        differs = f"on purpose: “{case.differs.sentence}”"
    if not finding.holds:
        differs = f"**{found.rewards} rewards, {found.errors} errors, {found.conversations} rows**"
    errors = ", ".join(str(sum(each.is_error for each in rows)) for rows in (theirs, ours))
    seconds = ", ".join(f"{each:.0f}" for each in finding.seconds)
    name = f"{finding.release.version} {finding.release.generation}"
    return f"| {name} | {case.name} | {len(ours)} | {errors} | {differs} | {seconds} |"


if __name__ == "__main__":
    sys.exit(main())

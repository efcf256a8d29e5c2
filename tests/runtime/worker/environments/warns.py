"""Warns in each way that environments do."""

import logging
import warnings

import verifiers as vf

log = logging.getLogger(__name__)


def load_environment():
    print("loading 3 rows")
    print("data.json not found. Using synthetic dataset for testing")
    log.info("all is well")
    log.warning("only %d of %d rows", 3, 100)
    logging.getLogger("verifiers.rubrics").warning("of mine, by another's logger")
    warnings.warn("the split is deprecated", stacklevel=1)

    def correct(completion, answer):
        log.warning("only %d of %d rows", 3, 100)
        log.error("no judge:\x1b[31m guessing\n twice")
        return float(answer in completion[0]["content"])

    rows = [{"question": f"say word{n}", "answer": f"word{n}"} for n in range(3)]
    return vf.SingleTurnEnv(rows, vf.Rubric([correct]))

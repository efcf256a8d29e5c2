"""Checks of the examples that the worker has surveyed, without a model."""

from prime_cli.evals.env_check.findings import failed, named, passed, warned
from prime_cli.evals.env_check.probe_run import ProbeRun
from prime_cli.runtime.protocol import Survey
from prime_cli.wire.check_reports import Check

SURVEYED = 1000
"""The number of examples to survey; fewer are run."""

FEWEST = 10
"""With fewer examples a few lucky answers decide."""

MOST_LEAKS = 0.05
"""The share of examples that may contain their answer by chance."""


def check_dataset(survey: Survey) -> list[Check]:
    """`examples`, `prompts`, `duplicates` and `leaks`."""
    checks = (_check_count, _check_prompts, _check_duplicates, _check_leaks)
    return [check(survey) for check in checks]


def check_fingerprint(first: ProbeRun, second: ProbeRun) -> Check:
    """`data`: two processes load the same examples in the same order."""
    one, other = (run.start.fingerprint if run.start else "" for run in (first, second))
    if one != other:
        return failed(
            "data",
            "Two processes loaded different examples, so runs cannot be repeated or resumed",
            "use a fixed seed for every shuffle and sample, and sort sets",
            fingerprints=[one, other],
        )
    return passed("data", "Two processes loaded the same examples", fingerprint=one)


def _check_count(survey: Survey) -> Check:
    count, answered = survey.examples, survey.answered
    more = " or more" if count == SURVEYED else ""
    words = f"{count}{more} example{'' if count == 1 else 's'}, {answered} with an answer"
    if count < FEWEST:
        return warned(
            "examples",
            f"{words}: too few to compare two models",
            "add some; compute the required number with `prime eval power`",
            examples=count,
            answered=answered,
        )
    return passed("examples", words, examples=count, answered=answered)


def _check_prompts(survey: Survey) -> Check:
    count = survey.counts.get("empty", 0)
    if count:
        return failed(
            "prompts",
            f"{_share(count, survey)} with an empty prompt: {named(survey.named['empty'])}",
            "check the dataset there",
            count=count,
            examples=survey.named["empty"],
        )
    return passed("prompts", "No prompt is empty")


def _check_duplicates(survey: Survey) -> Check:
    repeated, torn = survey.counts.get("duplicates", 0), survey.counts.get("conflicts", 0)
    if torn:
        return warned(
            "duplicates",
            f"{_share(torn, survey)} with the same prompt as another but a different answer: "
            f"{named(survey.named['conflicts'])}",
            "remove the wrong answer, or make the prompts different",
            conflicts=torn,
            duplicates=repeated,
            examples=survey.named["conflicts"],
        )
    if repeated:
        return warned(
            "duplicates",
            f"{_share(repeated, survey)} identical to an earlier one: "
            f"{named(survey.named['duplicates'])}",
            "remove them: they add no information",
            duplicates=repeated,
            examples=survey.named["duplicates"],
        )
    return passed("duplicates", "No duplicate examples")


def _check_leaks(survey: Survey) -> Check:
    count = survey.counts.get("leaks", 0)
    if count > MOST_LEAKS * survey.examples:
        return warned(
            "leaks",
            f"{_share(count, survey)} with the answer word for word in the prompt: "
            f"{named(survey.named['leaks'])}",
            "remove it, unless finding it is the task",
            count=count,
            examples=survey.named["leaks"],
        )
    if survey.answered == 0:
        return passed("leaks", "There are no answers to search for")
    words = (
        "No prompt contains its answer"
        if not count
        else f"{_share(count, survey)} with the answer in the prompt"
    )
    return passed("leaks", words, count=count)


def _share(count: int, survey: Survey) -> str:
    return f"{count:,} of {survey.examples:,} examples"

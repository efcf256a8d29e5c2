"""Percentages of whole numbers, scored by another environment of the same owner."""

import verifiers as vf
from number_answers import make_environment


def load_environment(num_examples: int = 10) -> vf.Environment:
    """The environment: `num_examples` questions."""
    pairs = [(5 * n, 40 * n) for n in range(1, num_examples + 1)]
    return make_environment(
        [
            {"question": f"What is {share} % of {whole}?", "answer": f"{share * whole / 100:g}"}
            for share, whole in pairs
        ]
    )

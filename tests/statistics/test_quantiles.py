import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from prime_cli.statistics.quantiles import beta_quantile, t_quantile

probabilities = st.sampled_from([0.001, 0.025, 0.3, 0.5, 0.9, 0.975])
shapes = st.floats(0.05, 20_000)


@settings(deadline=None, max_examples=30)
@given(probabilities, shapes, shapes)
def test_quantiles_of_the_beta_distribution_agree_with_scipy(
    probability: float, a: float, b: float
) -> None:
    expected = float(stats.beta.ppf(probability, a, b))
    assert beta_quantile(probability, a, b) == pytest.approx(expected, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("degrees", [1, 1.5, 2, 3, 4.25, 30, 199, 200, 5000, 1e6])
@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.999])
def test_quantiles_of_t_agree_with_scipy(probability: float, degrees: float) -> None:
    expected = float(stats.t.ppf(probability, degrees))
    assert t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-6)

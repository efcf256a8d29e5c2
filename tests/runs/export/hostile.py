"""Rows of which every text is as bad as can be, for hypothesis."""

from hypothesis import strategies as st

from prime_cli.runs.rows import Failure, Row

MARKUP = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]>&lt;&#60;",
    "\u2028\u2029",
    '"\\"\x00\r\n\t',
    "=cmd|' /C calc'!A0",
    "\ud800 alone",
    "\U0001f600",
)

texts = st.one_of(st.text(), st.sampled_from(MARKUP), st.text(st.characters(categories=["Cs"])))
"""Any text, lone surrogates among them."""

_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
_messages = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"role": texts, "content": st.one_of(texts, _values)},
            optional={"tool_calls": st.lists(st.one_of(texts, _values), max_size=2)},
        ),
        _values,
    ),
    max_size=3,
)
_failures = st.builds(Failure, texts, texts, texts, st.booleans(), st.none() | texts)


@st.composite
def hostile_rows(draw: st.DrawFn) -> Row:
    """A row as a folder of vf-eval may hold it: NaN, huge integers, broken Unicode."""
    error = draw(st.none() | _failures)
    return Row(
        example_id=draw(st.integers(0, 3)),
        rollout=draw(st.integers(0, 3)),
        reward=draw(st.floats()) if error is None else None,
        metrics=draw(st.dictionaries(texts, _values, max_size=3)),
        prompt=draw(st.one_of(st.none(), texts, _messages)),
        completion=draw(_messages),
        answer=draw(_values),
        info=draw(_values),
        task=draw(_values),
        error=error,
        usage=draw(st.none() | st.dictionaries(texts, st.integers(), max_size=2)),
        stop_condition=draw(st.none() | texts),
        state=draw(st.dictionaries(texts, _values, max_size=2)),
    )

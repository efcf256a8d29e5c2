import pytest
from hypothesis import given
from hypothesis import strategies as st

from prime_cli.core.archive.source_analysis import find_kinds


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("import verifiers as vf\nvf.SingleTurnEnv()", ["single-turn", "v0"]),
        ("from verifiers import MultiTurnEnv\nclass E(MultiTurnEnv): ...", ["multi-turn", "v0"]),
        ("import verifiers as vf\nvf.ToolEnv(tools=[])", ["multi-turn", "tool-use", "v0"]),
        ("class E(vf.PythonEnv): ...", ["multi-turn", "tool-use", "sandbox", "v0"]),
        ("# vf.ToolEnv\n'''vf.SandboxEnv'''", ["v0"]),
        ("not python (", ["v0"]),
    ],
)
def test_kinds_are_those_of_the_classes_that_code_uses(source: str, kinds: list[str]) -> None:
    assert list(find_kinds("v0", [("a.py", source)])) == kinds


def test_taskset_with_tools_in_a_container_is_of_three_kinds() -> None:
    source = "class T(vf.Task):\n    NEEDS_CONTAINER = True\n    @vf.tool\n    def look(self): ..."
    found = find_kinds("v1", [("a.py", source)])
    assert list(found) == ["multi-turn", "tool-use", "sandbox", "v1"]


def test_use_in_any_file_counts() -> None:
    files = [("a.py", "from .b import E"), ("b.py", "class E(vf.ToolEnv): ...")]
    assert "tool-use" in find_kinds("v0", files)


def test_package_that_is_no_environment_has_no_kind() -> None:
    assert find_kinds(None, [("a.py", "vf.ToolEnv()")]) == ()


@given(st.text())
def test_any_text_is_read_without_failing(text: str) -> None:
    assert find_kinds("v0", [("a.py", text)])[-1] == "v0"

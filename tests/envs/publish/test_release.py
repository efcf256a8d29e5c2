import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from prime_cli.core.errors import BadProject, UsageError
from prime_cli.envs.project.folder import load_project
from prime_cli.envs.publish.release import bump_patch, edit_version, next_post, next_rc, set_version

PROJECT = """\
# version = "0.0.0"
[tool.other]
version = "0.1.0"

[project]  # the one
name = "x"
version   =   '0.1.0'   # keep me
description = '''
version = "0.1.0"
'''

[tool.more]
version = "0.1.0"
"""


def test_only_the_version_of_the_project_changes() -> None:
    edited = edit_version(PROJECT, "0.1.1")
    assert edited == PROJECT.replace("'0.1.0'   # keep", "'0.1.1'   # keep")


@pytest.mark.parametrize(
    "text",
    [
        'project.version = "1"\nproject.name = "x"\n',
        '[project]\nname = "x"\nversion="1"',
        '[ project ]\r\nname = "x"\r\nversion = "1"\r\n',
        '["project"]\nversion = "1"\n',
    ],
)
def test_other_spellings_of_the_line_are_found(text: str) -> None:
    edited = edit_version(text, "2")
    assert edited is not None
    assert edited.replace('"2"', '"1"') == text


@pytest.mark.parametrize(
    "text", ['project = { name = "x", version = "1" }\n', '[project]\n"version" = "1"\n']
)
def test_a_version_on_no_line_of_its_own_is_left_alone(text: str) -> None:
    assert edit_version(text, "2") is None


LINES = st.lists(
    st.sampled_from(
        [
            'version = "9"',
            "[tool.a]",
            "[tool.b]",
            'x = """',
            '"""',
            "# [project]",
            'y = "[project]"',
        ]
    ),
    max_size=6,
).map("\n".join)


@given(before=LINES, after=LINES)
def test_the_rest_keeps_its_meaning_in_any_context(before: str, after: str) -> None:
    text = f'{before}\n[project]\nname = "x"\nversion = "1"\n{after}\n'
    try:
        meant = tomllib.loads(text)
        meant["project"]["version"]
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        return
    edited = edit_version(text, "2")
    assert edited is not None
    meant["project"]["version"] = "2"
    assert tomllib.loads(edited) == meant


def test_the_file_keeps_its_mode_its_mark_and_its_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(b'\xef\xbb\xbf[project]\r\nname = "x"\r\nversion = "1"\r\n')
    file.chmod(0o640)
    assert set_version(load_project(tmp_path), "2").version == "2"
    assert file.read_bytes() == b'\xef\xbb\xbf[project]\r\nname = "x"\r\nversion = "2"\r\n'
    if os.name != "nt":
        assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_version_that_cannot_be_edited_is_reported(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('project = { name = "x", version = "1" }\n')
    with pytest.raises(BadProject, match="no plain `version"):
        set_version(load_project(tmp_path), "2")


RELEASES = st.lists(st.integers(0, 50), min_size=1, max_size=4).map(
    lambda numbers: ".".join(map(str, numbers))
)
VERSIONS = st.builds(
    "{}{}{}{}".format,
    RELEASES,
    st.sampled_from(["", "a1", "b2", "rc1", "rc9"]),
    st.sampled_from(["", ".post1", ".post3"]),
    st.sampled_from(["", ".dev2"]),
)


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.1.9", "0.1.10"), ("1", "1.0.1"), ("0.2.0rc1", "0.2.0"), ("1!1.2", "1!1.2.1"),
     ("0.1.0.post2", "0.1.1"), ("1.2.3.4", "1.2.4.0"), ("0.1.0.dev3", "0.1.0")],
)  # fmt: skip
def test_the_next_patch(version: str, expected: str) -> None:
    assert bump_patch(version) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.2.0", "0.2.0rc0"), ("0.2.0rc0", "0.2.0rc1"), ("0.2.0b4", "0.2.0rc0"),
     ("0.2.0.post1", "0.2.1rc0")],
)  # fmt: skip
def test_the_next_release_candidate(version: str, expected: str) -> None:
    assert next_rc(version) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.2.0", "0.2.0.post0"), ("0.2.0.post0", "0.2.0.post1"), ("0.2.0rc1", "0.2.0rc1.post0")],
)
def test_the_next_post_release(version: str, expected: str) -> None:
    assert next_post(version) == expected


@given(VERSIONS)
def test_patch_and_post_are_later_and_every_result_is_a_version(version: str) -> None:
    assert Version(bump_patch(version)) > Version(version)
    assert Version(next_post(version)) > Version(version)
    assert Version(next_rc(version)).pre is not None


def test_an_invalid_version_is_refused() -> None:
    with pytest.raises(UsageError, match="`one` is not a version"):
        bump_patch("one")

import email.message
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from prime_cli.hub.headers import attachment


def test_plain_name_is_quoted() -> None:
    assert attachment("word-0.1-py3.whl") == 'attachment; filename="word-0.1-py3.whl"'


def test_other_letters_are_encoded_beside_a_plain_name() -> None:
    value = "attachment; filename=\"w_rd.whl\"; filename*=UTF-8''w%C3%B6rd.whl"
    assert attachment("wörd.whl") == value


@given(st.text(st.characters()))
def test_no_name_ends_the_header(filename: str) -> None:
    value = attachment(filename)
    assert value.isascii()
    assert value.isprintable()
    message = email.message.Message()
    message["content-disposition"] = value
    assert message.get_content_disposition() == "attachment"
    assert {name for name, _ in message.get_params([], "content-disposition")} == {
        "attachment",
        "filename",
    }


@given(st.text(min_size=1))
def test_name_is_read_back(filename: str) -> None:
    value = attachment(filename)
    encoded = value.partition("filename*=UTF-8''")[2]
    assert (unquote(encoded) or value.split('"')[1]) == filename

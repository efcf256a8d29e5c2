"""One line in a file that the user wrote: put there, changed and taken out; all else stays.

The line is known by its end, so that it is never there twice and is found again.
"""

import codecs

from prime_cli.core.errors import UsageError

MARK = "# prime completion"
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def with_line(content: bytes, command: str) -> bytes:
    """`content` with a line of `command` and the mark, at its end unless it is there already.

    Line ends and the encoding are kept, as are bytes that are no text. Raises UsageError for
    UTF-16 (PowerShell's habit) that is broken.
    """
    text, codec = _decoded(content)
    line = f"{command}  {MARK}"
    lines = text.split("\n")
    ours = [index for index, each in enumerate(lines) if _is_ours(each)]
    if ours:
        kept_return = "\r" if lines[ours[0]].endswith("\r") else ""
        lines[ours[0]] = line + kept_return
        return _encoded("\n".join(_without(lines, ours[1:])), codec)
    end = "\r\n" if "\r\n" in text else "\n"
    if text.strip("\ufeff") and not text.endswith("\n"):
        text += end
    if text.rstrip("\r\n").endswith("\\"):
        text += end  # or the line would be the second half of that one
    return _encoded(text + line + end, codec)


def without_line(content: bytes) -> bytes:
    """`content` without such lines; raises UsageError for UTF-16 that is broken."""
    text, codec = _decoded(content)
    lines = text.split("\n")
    ours = [index for index, each in enumerate(lines) if _is_ours(each)]
    return _encoded("\n".join(_without(lines, ours)), codec) if ours else content


def _is_ours(line: str) -> bool:
    return line.rstrip().endswith(MARK)


def _without(lines: list[str], indices: list[int]) -> list[str]:
    return [line for index, line in enumerate(lines) if index not in indices]


def _decoded(content: bytes) -> tuple[str, str | None]:
    codec = _UTF16.get(content[:2])
    try:
        if codec:
            return content.decode(codec), codec
    except UnicodeDecodeError as error:
        raise UsageError("The file is neither UTF-8 nor UTF-16: nothing was changed") from error
    return content.decode("utf-8", "surrogateescape"), None


def _encoded(text: str, codec: str | None) -> bytes:
    return text.encode(codec) if codec else text.encode("utf-8", "surrogateescape")

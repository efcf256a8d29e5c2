"""Commands and files inside a sandbox, as the gateway of the sandbox API has them.

Files are read and written by programs inside, so a link that was made there is followed there.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime

import msgspec
from aiohttp import web

from prime_cli.core.errors import NotFound, TooLarge, TooSlow, UsageError
from prime_cli.hub.sandboxes.output import kill, merged
from prime_cli.hub.sandboxes.provider import ExecSpec, RunningCommand, RunningSandbox
from prime_cli.wire.codec import decode
from prime_cli.wire.command_sessions import STDOUT
from prime_cli.wire.sandboxes import LARGEST_FILE, Executed, Execution, FileText, Uploaded

MOST_OUTPUT = 10 * 1024 * 1024
"""Bytes of each stream of a command that are kept."""

MOST_READ = 10 * 1024 * 1024

_SECONDS = 300.0
_FILE_SECONDS = 300.0
_TEST = 'test -f "$1" || { test ! -e "$1" || echo "$1 is not a file" >&2; exit 44; }; '


async def execute(sandbox: RunningSandbox, ask: Execution) -> Executed:
    """Run a line in bash; raises TooSlow when it takes longer than it may, and kills it then."""
    exec_spec = ExecSpec(
        ("/bin/bash", "-c", ask.command), dict(ask.env or {}), ask.working_dir, ask.user
    )
    command = await sandbox.run(exec_spec)
    code, out, err = await _collect(command, ask.timeout or _SECONDS)
    return Executed(out.decode(errors="replace"), err.decode(errors="replace"), code)


async def _collect(
    command: RunningCommand, seconds: float, most: int = MOST_OUTPUT
) -> tuple[int, bytes, bytes]:
    parts = {STDOUT: bytearray(), 2: bytearray()}
    try:
        async with asyncio.timeout(seconds):
            async for number, chunk in merged(command):
                room = most - len(parts[number])
                parts[number] += chunk[:room] if room > 0 else b""
            return await command.wait(), bytes(parts[STDOUT]), bytes(parts[2])
    except TimeoutError:
        raise TooSlow(f"The command took longer than {seconds:g} seconds") from None
    finally:
        await _leave(command)


async def _leave(command: RunningCommand) -> None:
    """Kill a command that still runs, and let go of it."""
    waiting = asyncio.ensure_future(command.wait())
    await asyncio.sleep(0)
    if not waiting.done():
        await kill(command)
        waiting.cancel()
    command.close()


# --- Files ---

_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'


async def upload(sandbox: RunningSandbox, path: str, parts: AsyncIterator[bytes]) -> Uploaded:
    """Write a file from its bytes, which are never held here; its folders are made."""
    command = await sandbox.run(ExecSpec(("/bin/sh", "-c", _WRITE, "sh", path), stdin=True))
    reading = asyncio.create_task(_collect(command, _FILE_SECONDS))
    size = 0
    if command.stdin is None:
        raise UsageError("This provider cannot write files")
    try:
        with suppress(ConnectionError):
            async for part in parts:
                size += len(part)
                if size > LARGEST_FILE:
                    raise TooLarge(f"The file has more than {LARGEST_FILE} bytes")
                command.stdin.write(part)
                await command.stdin.drain()
        command.stdin.close()
        code, _, said = await reading
    finally:
        reading.cancel()
    if code:
        raise UsageError(_why(said) or f"{path} cannot be written", param="path")
    return Uploaded(success=True, path=path, size=size, timestamp=datetime.now(UTC).isoformat())


async def download(sandbox: RunningSandbox, path: str, request: web.Request) -> web.StreamResponse:
    """Send the bytes of a file as they are read; raises NotFound."""
    script = f'{_TEST}exec cat -- "$1"'
    command = await sandbox.run(ExecSpec(("/bin/sh", "-c", script, "sh", path)))
    response: web.StreamResponse | None = None
    said = b""
    try:
        async with asyncio.timeout(_FILE_SECONDS):
            async for number, chunk in merged(command):
                if number != STDOUT:
                    said = (said + chunk)[:2000]
                    continue
                if response is None:
                    response = web.StreamResponse()
                    response.content_type = "application/octet-stream"
                    await response.prepare(request)
                await response.write(chunk)
            code = await command.wait()
        if code and response is None:
            raise _unreadable(path, said)
        if code:
            # Cut off: the client must not take it for the whole file.
            raise ConnectionResetError(_why(said))
        if response is None:
            response = web.StreamResponse()
            await response.prepare(request)
        await response.write_eof()
    except TimeoutError:
        raise TooSlow(f"{path} was not sent within {_FILE_SECONDS:g} seconds") from None
    else:
        return response
    finally:
        await _leave(command)


_READ = (
    f'{_TEST}wc -c < "$1" || exit 1; '
    'if [ "$2" -lt 0 ]; then tail -c "${2#-}" -- "$1"; else tail -c "+$(($2 + 1))" -- "$1"; fi '
    '| head -c "$3"'
)


async def read_file(
    sandbox: RunningSandbox, path: str, offset: int, length: int | None
) -> FileText:
    """A part of a file as text; a negative `offset` counts from its end.

    Raises NotFound, and TooLarge for a whole file of more than MOST_READ bytes.
    """
    most = min(MOST_READ, MOST_READ if length is None else length)
    argv = ("/bin/sh", "-c", _READ, "sh", path, str(offset), str(most + 1))
    code, out, said = await _collect(await sandbox.run(ExecSpec(argv)), 30.0, MOST_READ + 100)
    total, _, body = out.partition(b"\n")
    if code or not total.strip().isdigit():
        raise _unreadable(path, said)
    size = int(total[:18])
    if len(body) > most and length is None:
        raise TooLarge(f"{path} has {size} bytes; read a part of it")
    body = body[:most]
    begin = offset if offset >= 0 else max(0, size + offset)
    return FileText(
        content=body.decode(errors="replace"),
        size=len(body),
        total_size=size,
        offset=begin,
        truncated=begin + len(body) < size,
    )


def _unreadable(path: str, said: bytes) -> NotFound:
    return NotFound(_why(said) or f"File not found: {path[:500]}")


def _why(said: bytes) -> str:
    """The last line that a program inside said."""
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1][:500] if lines else ""


# --- Requests ---


async def read_execution(request: web.Request) -> Execution:
    """Raises UsageError."""
    found = decode(await request.read(), Execution)
    if found.timeout is not None and found.timeout < 0:
        raise UsageError("`timeout` must be 0 or more seconds", param="timeout")
    return found


def read_path(request: web.Request) -> str:
    """Raises UsageError."""
    path = request.query.get("path", "")
    if not path or "\0" in path:
        raise UsageError("The query names no `path`", param="path")
    return path


def read_number(request: web.Request, name: str) -> int | None:
    """Raises UsageError."""
    text = request.query.get(name)
    try:
        return None if text in (None, "") else int(str(text)[:18])
    except ValueError:
        raise UsageError(f"`{name}` must be a whole number", param=name) from None


def read_length(request: web.Request) -> int | None:
    """Raises UsageError."""
    length = read_number(request, "length")
    if length is not None and length < 0:
        raise UsageError("`length` must be 0 or more bytes", param="length")
    return length


async def read_upload(request: web.Request) -> AsyncIterator[bytes]:
    """The bytes of the multipart field `file`; raises UsageError without one."""
    try:
        reader = await request.multipart()
    except (AssertionError, ValueError) as error:
        raise UsageError("The body is not a multipart form") from error
    async for part in reader:
        if isinstance(part, web.BaseRequest) or getattr(part, "name", None) != "file":
            continue
        while chunk := await part.read_chunk(1 << 16):  # type: ignore[union-attr]
            yield chunk
        return
    raise UsageError("The form has no field `file`")


def answer(value: object) -> web.Response:
    """A struct as JSON."""
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")

"""The filter of system calls, run as the kernel runs it."""

import struct

import pytest

from prime_cli.runtime.isolation.bubblewrap import system_call_filter

ALLOWED, NOT_PERMITTED, NO_SUCH_CALL = 0x7FFF0000, 0x00050001, 0x00050026
X86, ARM, RISCV, I386 = 0xC000003E, 0xC00000B7, 0xC00000F3, 0x40000003
TCGETS, TIOCSTI = 0x5401, 0x5412


def run(
    program: bytes, *, architecture: int, number: int, argument: int = 0, second: int = 0
) -> int:
    """What the filter answers to a system call."""
    data = struct.pack("=IIQQQ", number, architecture, 0, argument, second)
    words = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        code, if_true, if_false, constant = words[at]
        at += 1
        if code == 0x06:
            return int(constant)
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, constant)
        else:
            holds = value == constant if code == 0x15 else value >= constant
            at += if_true if holds else if_false


@pytest.mark.parametrize(
    ("machine", "architecture", "refused", "open_call", "socket_call", "ioctl"),
    [
        ("x86_64", X86, [248, 249, 250, 321, 425], 257, 41, 16),
        ("aarch64", ARM, [217, 219, 427], 56, 198, 29),
        ("riscv64", RISCV, [217, 219, 427], 56, 198, 29),
    ],
)
def test_only_what_is_listed_is_refused(
    machine: str,
    architecture: int,
    refused: list[int],
    open_call: int,
    socket_call: int,
    ioctl: int,
) -> None:
    program = system_call_filter(machine)
    assert program is not None
    for number in refused:
        assert run(program, architecture=architecture, number=number) == NOT_PERMITTED
    assert run(program, architecture=architecture, number=open_call) == ALLOWED
    assert run(program, architecture=architecture, number=socket_call, argument=2) == ALLOWED
    vsock = run(program, architecture=architecture, number=socket_call, argument=40)
    assert vsock == NOT_PERMITTED
    requests = {TIOCSTI: NOT_PERMITTED, 1 << 32 | TIOCSTI: NOT_PERMITTED, TCGETS: ALLOWED}
    for request, answer in requests.items():
        assert run(program, architecture=architecture, number=ioctl, second=request) == answer


def test_numbers_of_another_architecture_are_no_way_around_it() -> None:
    program = system_call_filter("x86_64")
    assert program is not None
    assert run(program, architecture=I386, number=288) == NO_SUCH_CALL
    assert run(program, architecture=X86, number=0x40000000 | 250) == NO_SUCH_CALL


def test_a_machine_whose_numbers_are_unknown_has_no_filter() -> None:
    assert system_call_filter("s390x") is None

"""x86-64 code that tells the kernel's time plus an offset that may grow, and the offsets it adds.

Each function asks the kernel by the system call of its name, so that every clock it does not shift stays exact. It then
adds what stands in the selected slot: an offset, and a share of the time since the start of a slope. A new slot is
written beside it, and then one byte, the selector: a thread that reads the clock meanwhile sees the old slot or the new
one, never half of either. Eight slots, so that a thread which was interrupted between the selector and the slot still
finds its slot unchanged.

    0x000  magic, by which a process that carries this code is known, also after a fork
    0x010  selector (one byte)
    0x040  8 slots of 64 bytes: the offset as seconds, nanoseconds, microseconds; the rate in units of 2^-32; the start
           of the slope as seconds, nanoseconds, microseconds; nothing
    0x240  clock_gettime, gettimeofday, time

The slope counts from one instant of wall time. By TAI, which is some leap seconds ahead, it seems to begin earlier.
"""

import struct
from collections.abc import Mapping

MAGIC = b"lockbench clock\0"
SELECTOR = 0x10
SLOTS = 8
_FIRST_SLOT = 0x40
_SLOT = struct.Struct("<qqqqqqq8x")
_CODE = 0x240
_ONE = 1 << 32  # the rate of a clock that gains a second in a second

_MACHINE_CODE = bytes.fromhex(
    # clock_gettime(edi: clock, rsi: timespec)
    "b8e4000000"  # mov eax, 228                  SYS_clock_gettime; leaves edi and rsi as they are
    "0f05"  # syscall
    "85c0"  # test eax, eax
    "7575"  # jnz done
    "83ff1f"  # cmp edi, 31
    "7770"  # ja done                             negative: the clock of a device or of a process
    "b9"
    "00000000"  # mov ecx, the shifted clocks    one bit each, see below
    "0fa3f9"  # bt ecx, edi
    "7366"  # jnc done
    "41b800ca9a3b"  # mov r8d, 1000000000
    "41b908000000"  # mov r9d, 8
    # shift: rsi: seconds and fraction; r8: fractions of a second; r9: where the slot has its fractions
    "440fb615a2fdffff"  # movzx r10d, byte [selector]
    "41c1e206"  # shl r10d, 6
    "488d0dc7fdffff"  # lea rcx, [slots]
    "4901ca"  # add r10, rcx
    "488b06"  # mov rax, [rsi]
    "492b4220"  # sub rax, [r10 + 32]             since the start of the slope
    "490fafc0"  # imul rax, r8
    "48034608"  # add rax, [rsi + 8]
    "4b2b440a20"  # sub rax, [r10 + r9 + 32]
    "49f76a18"  # imul qword [r10 + 24]           times the rate: 128 bits in rdx:rax
    "480facd020"  # shrd rax, rdx, 32             gained since the start, in fractions of a second
    "48034608"  # add rax, [rsi + 8]
    "4b03040a"  # add rax, [r10 + r9]
    "4899"  # cqo
    "49f7f8"  # idiv r8                           whole seconds, and the rest
    "4885d2"  # test rdx, rdx
    "7906"  # jns whole
    "4c01c2"  # add rdx, r8
    "48ffc8"  # dec rax                           the rest is never negative
    "480306"  # whole: add rax, [rsi]
    "490302"  # add rax, [r10]
    "488906"  # mov [rsi], rax
    "48895608"  # mov [rsi + 8], rdx
    "31c0"  # xor eax, eax
    "c3"  # done: ret
    # gettimeofday(rdi: timeval, rsi: timezone)
    "b860000000"  # mov eax, 96                   SYS_gettimeofday
    "0f05"  # syscall
    "85c0"  # test eax, eax
    "75f4"  # jnz done
    "4885ff"  # test rdi, rdi
    "74ef"  # jz done
    "4889fe"  # mov rsi, rdi
    "41b840420f00"  # mov r8d, 1000000
    "41b910000000"  # mov r9d, 16
    "eb84"  # jmp shift
    # time(rdi: time_t, or 0)
    "57"  # push rdi
    "4883ec10"  # sub rsp, 16
    "bf05000000"  # mov edi, 5                    REALTIME_COARSE, as the kernel's own time() reads it
    "4889e6"  # mov rsi, rsp
    "e84cffffff"  # call clock_gettime
    "488b0424"  # mov rax, [rsp]
    "4883c410"  # add rsp, 16
    "5f"  # pop rdi
    "4885ff"  # test rdi, rdi
    "7403"  # jz told
    "488907"  # mov [rdi], rax
    "c3"  # told: ret
)
_SHIFTED_AT = 17  # where the machine code has the clocks that it shifts
# What settimeofday moves: REALTIME 0, _COARSE 5, _ALARM 8, TAI 11.
WALL = 1 << 0 | 1 << 5 | 1 << 8 | 1 << 11
# What stands still while the machine is suspended: MONOTONIC 1, _RAW 4, _COARSE 6. BOOTTIME 7 goes on.
MONOTONIC = 1 << 1 | 1 << 4 | 1 << 6
# Where each function begins, by its name in the vDSO.
ENTRIES: Mapping[str, int] = {
    "__vdso_clock_gettime": _CODE,
    "__vdso_gettimeofday": _CODE + 0x81,
    "__vdso_time": _CODE + 0xA2,
}
SIZE = _CODE + len(_MACHINE_CODE)
JUMP_BYTES = 5


def block(first_slot: bytes, clocks: int = WALL) -> bytes:
    """The whole of it, telling the kernel's time plus what the slot says of these clocks."""
    head = MAGIC.ljust(_FIRST_SLOT, b"\0")
    return (head + first_slot).ljust(_CODE, b"\0") + _code(clocks)


def _code(clocks: int) -> bytes:
    return _MACHINE_CODE[:_SHIFTED_AT] + struct.pack("<I", clocks) + _MACHINE_CODE[_SHIFTED_AT + 4 :]


def slot(offset_us: int, rate: float = 0.0, start_us: int = 0) -> bytes:
    """An offset as the code reads it, which grows by `rate` of the time since `start_us`. Whole microseconds, so that
    the two fractions are exactly the same instant."""
    seconds, microseconds = divmod(offset_us, 1_000_000)
    start, fraction = divmod(start_us, 1_000_000)
    return _SLOT.pack(
        seconds, microseconds * 1_000, microseconds, round(rate * _ONE), start, fraction * 1_000, fraction
    )


def offset_us(slot_bytes: bytes) -> int:
    """The offset that a slot holds, without what has grown since."""
    seconds, _, microseconds, *_ = _SLOT.unpack(slot_bytes)
    return int(seconds * 1_000_000 + microseconds)


def slot_at(selector: int) -> int:
    return _FIRST_SLOT + selector * _SLOT.size


SLOT_BYTES = _SLOT.size


def jump(from_: int, to: int) -> bytes:
    """`jmp to`, as it stands at `from_`."""
    return b"\xe9" + struct.pack("<i", to - (from_ + JUMP_BYTES))

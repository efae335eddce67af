"""x86-64 code that tells the kernel's time plus an offset, and the offsets it adds.

Each function asks the kernel by the system call of its name, so that every clock it does not shift stays exact. It then
adds what stands in the selected slot. A new offset is written into the next slot, and then one byte, the selector, is
written: a thread that reads the clock meanwhile sees the old offset or the new one, never half of either. Eight slots,
so that a thread which was interrupted between the selector and the slot still finds its slot unchanged.

    0x000  magic, by which a process that carries this code is known, also after a fork
    0x010  selector (one byte)
    0x040  8 slots of 32 bytes: seconds, nanoseconds, microseconds, nothing
    0x140  clock_gettime, gettimeofday, time
"""

import struct
from collections.abc import Mapping

MAGIC = b"lockbench clock\0"
SELECTOR = 0x10
SLOTS = 8
_FIRST_SLOT = 0x40
_SLOT = struct.Struct("<qqq8x")
_CODE = 0x140

_MACHINE_CODE = bytes.fromhex(
    # clock_gettime(edi: clock, rsi: timespec)
    "b8e4000000"  # mov eax, 228                  SYS_clock_gettime; leaves edi and rsi as they are
    "0f05"  # syscall
    "85c0"  # test eax, eax
    "7551"  # jnz done
    "83ff1f"  # cmp edi, 31                       negative: the clock of a device or of a process
    "774c"  # ja done
    "b9"
    "00000000"  # mov ecx, the shifted clocks    one bit each, see below
    "0fa3f9"  # bt ecx, edi
    "7342"  # jnc done
    "41b800ca9a3b"  # mov r8d, 1000000000
    "41b908000000"  # mov r9d, 8
    # shift: rsi: seconds and fraction; r8: fractions of a second; r9: where the slot has its fraction
    "0fb615a3feffff"  # movzx edx, byte [selector]
    "c1e205"  # shl edx, 5
    "488d0dc9feffff"  # lea rcx, [slots]
    "4801ca"  # add rdx, rcx
    "488b06"  # mov rax, [rsi]
    "480302"  # add rax, [rdx]
    "488b4e08"  # mov rcx, [rsi + 8]
    "4a030c0a"  # add rcx, [rdx + r9]
    "4c39c1"  # cmp rcx, r8
    "7206"  # jb whole
    "4c29c1"  # sub rcx, r8
    "48ffc0"  # inc rax
    "488906"  # whole: mov [rsi], rax
    "48894e08"  # mov [rsi + 8], rcx
    "31c0"  # xor eax, eax
    "c3"  # done: ret
    # gettimeofday(rdi: timeval, rsi: timezone)
    "b860000000"  # mov eax, 96                   SYS_gettimeofday
    "0f05"  # syscall
    "85c0"  # test eax, eax
    "75f4"  # jnz done
    "4885ff"  # test rdi, rdi                     no timeval wanted: nothing to shift
    "74ef"  # jz done
    "4889fe"  # mov rsi, rdi
    "41b840420f00"  # mov r8d, 1000000
    "41b910000000"  # mov r9d, 16
    "eba8"  # jmp shift
    # time(rdi: time_t, or 0)
    "57"  # push rdi
    "4883ec10"  # sub rsp, 16
    "bf05000000"  # mov edi, 5                    REALTIME_COARSE, as the kernel's own time() reads it
    "4889e6"  # mov rsi, rsp
    "e870ffffff"  # call clock_gettime
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
    "__vdso_gettimeofday": _CODE + 0x5D,
    "__vdso_time": _CODE + 0x7E,
}
SIZE = _CODE + len(_MACHINE_CODE)
JUMP_BYTES = 5


def block(offset_us: int, clocks: int = WALL) -> bytes:
    """The whole of it, telling the kernel's time plus `offset_us` of these clocks."""
    head = MAGIC.ljust(_FIRST_SLOT, b"\0")
    return (head + slot(offset_us)).ljust(_CODE, b"\0") + _code(clocks)


def _code(clocks: int) -> bytes:
    return _MACHINE_CODE[:_SHIFTED_AT] + struct.pack("<I", clocks) + _MACHINE_CODE[_SHIFTED_AT + 4 :]


def slot(offset_us: int) -> bytes:
    """An offset as the code reads it. Whole microseconds, so that its two fractions are exactly the same instant."""
    seconds, microseconds = divmod(offset_us, 1_000_000)
    return _SLOT.pack(seconds, microseconds * 1_000, microseconds)


def offset_us(slot_bytes: bytes) -> int:
    """The offset that a slot holds."""
    seconds, _, microseconds = _SLOT.unpack(slot_bytes)
    return int(seconds * 1_000_000 + microseconds)


def slot_at(selector: int) -> int:
    return _FIRST_SLOT + selector * _SLOT.size


SLOT_BYTES = _SLOT.size


def jump(from_: int, to: int) -> bytes:
    """`jmp to`, as it stands at `from_`."""
    return b"\xe9" + struct.pack("<i", to - (from_ + JUMP_BYTES))

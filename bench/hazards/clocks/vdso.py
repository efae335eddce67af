"""The kernel's code for reading clocks: the vDSO, which every process has mapped and calls instead of the kernel.

glibc (Redis, Postgres, Java, Node.js) and the Go runtime (etcd) both find its functions by name when a program starts,
and call them from then on. Who changes these functions in one process changes the clock of that process alone.
"""

import platform
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench.hazards.clocks.refusal import CannotStep, not_ours

# All that tells wall time. `clock_getres` and `getcpu` do not, and `getrandom` reads no clock.
NAMES = ("__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time")
_ALIGNED = 64
_SECTION = struct.Struct("<IIQQQQIIQQ")  # elf(5), Elf64_Shdr: name, type, flags, addr, offset, size, link, ...
_SYMBOL = struct.Struct("<IBBHQQ")  # Elf64_Sym: name, info, other, shndx, value, size
_DYNSYM = 11  # SHT_DYNSYM


@dataclass(frozen=True, slots=True)
class Vdso:
    """The vDSO as this machine's kernel gives it to every 64-bit process.

    `entries` are the offsets of the functions of `NAMES`; from `room` on, the image is nothing but padding.
    """

    image: bytes
    entries: Mapping[str, int]
    room: int


def mapped_at(pid: int | str) -> range:
    """The addresses of a process' vDSO. Raises ProcessLookupError if it has none: it is gone, or a zombie."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        lines = []
    except PermissionError as refused:
        raise not_ours(pid, refused) from refused
    for line in lines:
        if line.endswith(" [vdso]"):
            first, end = line.partition(" ")[0].split("-")
            return range(int(first, 16), int(end, 16))
    raise ProcessLookupError(f"process {pid} has no vDSO")


@cache
def own() -> Vdso:
    """This process' own vDSO, which nobody has changed. Raises CannotStep where the machine is not one we know."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise CannotStep(
            f"stepping the clock of a running server needs Linux on x86-64; this is {sys.platform} on "
            f"{platform.machine()}: run this scenario on such a machine, or leave it out"
        )
    try:
        place = mapped_at("self")
        with Path("/proc/self/mem").open("rb", buffering=0) as memory:
            memory.seek(place.start)
            image = memory.read(len(place))
        return parse(image)
    except (OSError, struct.error, ValueError) as unknown:
        raise CannotStep(f"this kernel's vDSO is not as expected ({unknown}): no clock can be stepped") from unknown


def parse(image: bytes) -> Vdso:
    """Find the functions and the padding. Raises ValueError or struct.error for what is not a whole 64-bit vDSO."""
    if image[:5] != b"\x7fELF\x02":
        raise ValueError("no 64-bit ELF image")
    (table,) = struct.unpack_from("<Q", image, 40)  # e_shoff
    size, count = struct.unpack_from("<HH", image, 58)  # e_shentsize, e_shnum
    sections = [_SECTION.unpack_from(image, table + number * size) for number in range(count)]
    found: dict[str, int] = {}
    for section in sections:
        if section[1] != _DYNSYM:
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, _, _, _, value, _ = _SYMBOL.unpack_from(image, at)
            found[image[names + name : image.index(b"\0", names + name)].decode("ascii")] = value
    missing = [name for name in NAMES if name not in found]
    if missing:
        raise ValueError(f"no function {', '.join(missing)}")
    end = max(table + count * size, len(image.rstrip(b"\0")))
    return Vdso(image, {name: found[name] for name in NAMES}, -(-end // _ALIGNED) * _ALIGNED)

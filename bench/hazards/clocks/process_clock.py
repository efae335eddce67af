"""The clock of one process: its vDSO, changed so that wall time is shifted and nothing else, or monotonic time instead.

Wall time is shifted for code that asks by library call, which is how all our servers ask. What the kernel does with
wall time by itself is not: times of files, and timers set for an absolute wall time. CLOCK_MONOTONIC stays exact.

Monotonic time is shifted for one purpose: after a suspension it is behind CLOCK_BOOTTIME. After a real one the kernel's
own monotonic time is behind as well, and here it is not: while the shift lasts, a wait up to an absolute instant (a
sleep, a lock with a timeout) ends at once. So it is shifted for a moment only.

The kernel gives each process that writes its vDSO a page of its own (this is how debuggers set breakpoints there), so
no other process sees the change, except those that it forks: they begin with a copy, and have an offset of their own.
"""

import time
from pathlib import Path

from bench.hazards.clocks import stub, vdso
from bench.hazards.clocks.halt import halted, instructions
from bench.hazards.clocks.refusal import CannotStep, not_ours

_CLEAR_WITHIN_S = 5.0


class ProcessClock:
    """One process, named by its pid.

    Every method raises ProcessLookupError once it is gone, and CannotStep if the kernel does not let us change it, its
    vDSO is not the one we know, or it does not stop on request.
    """

    def __init__(self, pid: int, clocks: int = stub.WALL) -> None:
        self.pid = pid
        self._clocks = clocks
        self._vdso = vdso.own()
        names = stub.ENTRIES if clocks == stub.WALL else ("__vdso_clock_gettime",)  # the others tell wall time only
        self._entries = {name: self._vdso.entries[name] for name in names}
        if len(self._vdso.image) - self._vdso.room < stub.SIZE:
            raise CannotStep("this kernel's vDSO has no room for a shifted clock: no clock can be stepped")
        self._start = vdso.mapped_at(pid).start

    def offset_us(self) -> int | None:
        """What is added to its clocks now; None: its vDSO is as the kernel made it."""
        image = self._image()
        if not self._is_changed(image):
            return None
        carried = image[self._vdso.room :]
        at = stub.slot_at(carried[stub.SELECTOR])
        return stub.offset_us(carried[at : at + stub.SLOT_BYTES])

    def set(self, offset_us: int, rate: float = 0.0, start_us: int = 0) -> None:
        """Tell the true time plus `offset_us` from now on, and plus `rate` of the time since `start_us`, an instant of
        the machine's wall clock. Only the first time halts the process, for a moment."""
        image, slot = self._image(), stub.slot(offset_us, rate, start_us)
        if not self._is_changed(image):
            self._change(slot)
            return
        following = (image[self._vdso.room + stub.SELECTOR] + 1) % stub.SLOTS
        self._write(self._vdso.room + stub.slot_at(following), slot)
        self._write(self._vdso.room + stub.SELECTOR, bytes([following]))

    def restore(self) -> None:
        """Give it back the kernel's own functions. Threads that are in ours leave them in their own time."""
        if self._is_changed(self._image()):
            with halted(self.pid):  # five bytes are not written at one stroke
                for entry in self._entries.values():
                    self._write(entry, self._vdso.image[entry : entry + stub.JUMP_BYTES])

    def _change(self, slot: bytes) -> None:
        """Make the first five bytes of each function a jump to ours, once no thread has begun and not yet passed them.

        A thread that is further on finishes the kernel's function, which is as it was from there on. What is not seen
        is a thread in a signal handler that interrupted just these one or two instructions.
        """
        begun = {
            self._start + entry + passed for entry in self._entries.values() for passed in range(1, stub.JUMP_BYTES)
        }
        give_up = time.monotonic() + _CLEAR_WITHIN_S
        while True:
            with halted(self.pid):
                if begun.isdisjoint(instructions(self.pid)):
                    self._write(self._vdso.room, stub.block(slot, self._clocks))
                    for entry, jump in self._jumps().items():
                        self._write(entry, jump)
                    return
            if time.monotonic() >= give_up:
                raise CannotStep(f"a thread of process {self.pid} does not leave the clock's code: it was not changed")
            time.sleep(0.0005)  # pace: the thread needs a few instructions more to be out of the way

    def _jumps(self) -> dict[int, bytes]:
        return {entry: stub.jump(entry, self._vdso.room + stub.ENTRIES[name]) for name, entry in self._entries.items()}

    def _is_changed(self, image: bytes) -> bool:
        """Do its functions jump to ours? Raises CannotStep if they are neither ours nor the kernel's."""
        changed = bytearray(self._vdso.image[: self._vdso.room])
        for entry, jump in self._jumps().items():
            changed[entry : entry + len(jump)] = jump
        code = image[: self._vdso.room]
        if code == changed and image.startswith(stub.MAGIC, self._vdso.room):
            return True
        if code == self._vdso.image[: self._vdso.room]:
            return False
        raise CannotStep(f"process {self.pid} has not the clock functions that this machine's 64-bit programs have")

    def _image(self) -> bytes:
        try:
            with Path(f"/proc/{self.pid}/mem").open("rb", buffering=0) as memory:
                memory.seek(self._start)
                image = memory.read(len(self._vdso.image))
        except PermissionError as refused:
            raise not_ours(self.pid, refused) from refused
        except FileNotFoundError:
            image = b""
        if len(image) < len(self._vdso.image):
            raise ProcessLookupError(f"process {self.pid} is gone")
        return image

    def _write(self, at: int, content: bytes) -> None:
        try:
            with Path(f"/proc/{self.pid}/mem").open("r+b", buffering=0) as memory:
                memory.seek(self._start + at)
                written = memory.write(content)
        except FileNotFoundError:
            written = 0
        except OSError as refused:  # EIO: this kernel is set not to let code be written (proc_mem.force_override)
            raise not_ours(self.pid, refused) from refused
        if written != len(content):
            raise ProcessLookupError(f"process {self.pid} is gone")

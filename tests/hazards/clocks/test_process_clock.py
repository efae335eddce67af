"""The changed clock of one process: what it shifts, what it leaves exact, and that it can be taken back."""

import os
import platform
import signal
import struct
import time
from pathlib import Path

import psutil
import pytest

from bench.hazards.clocks import process_clock, stub, vdso
from bench.hazards.clocks.halt import halted
from bench.hazards.clocks.process_clock import ProcessClock
from bench.hazards.clocks.refusal import CannotStep
from tests.hazards.clocks.child import Child, telling

OFFSETS_US = (0, 11_000_000, 1, -1, 999_999, -3_600_000_001, 86_400_000_000, -1_500_000)


def image_of(child: Child) -> bytes:
    place = vdso.mapped_at(child.pid)
    with Path(f"/proc/{child.pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(place.start)
        return memory.read(len(place))


def entries_of(child: Child) -> bytes:
    return image_of(child)[: vdso.own().room]


def write(child: Child, at: int, content: bytes) -> None:
    with Path(f"/proc/{child.pid}/mem").open("r+b", buffering=0) as memory:
        memory.seek(vdso.mapped_at(child.pid).start + at)
        memory.write(content)


def assert_shifted(child: Child, offset_us: int) -> None:
    reading = child.read()
    for name, (least, most) in reading.wall_ms.items():
        assert least <= offset_us / 1_000 <= most, (name, reading)
    assert all(reading.steady_within.values()), reading
    assert 0 < reading.cpu_ns < 60 * 10**9


def test_monotonic_clocks_move_and_no_other() -> None:
    """As after a suspension: behind CLOCK_BOOTTIME, which is as exact as ever, and so is wall time."""
    with telling() as child:
        clock = ProcessClock(child.pid, stub.MONOTONIC)
        for offset_us in (-1_600_000, -1, -3_600_000_001, 5_000_000):
            clock.set(offset_us)
            assert clock.offset_us() == offset_us
            reading = child.read()
            assert reading.steady_within["boottime"]
            assert all(least <= 0.0 <= most for least, most in reading.wall_ms.values()), reading
            if abs(offset_us) > 1_000_000:
                moved = {name for name, within in reading.steady_within.items() if not within}
                assert moved == {"monotonic", "monotonic_raw", "monotonic_coarse"}
        clock.restore()
        assert_shifted(child, 0)


def test_every_wall_clock_moves_and_no_other() -> None:
    with telling() as child:
        assert_shifted(child, 0)
        clock = ProcessClock(child.pid)
        assert clock.offset_us() is None
        for offset_us in (*OFFSETS_US, *range(1, 3 * stub.SLOTS)):  # more steps than slots
            clock.set(offset_us)
            assert clock.offset_us() == offset_us
            assert_shifted(child, offset_us)
        clock.restore()
        assert clock.offset_us() is None
        assert_shifted(child, 0)


@pytest.mark.parametrize(("rate", "offset_us"), [(0.001, 0), (0.02, 0), (0.5, 3_000_000), (-0.05, -1_500_000)])
def test_every_wall_clock_runs_fast_or_slow_and_no_other(rate: float, offset_us: int) -> None:
    with telling() as child:
        clock = ProcessClock(child.pid)
        start_ns = time.time_ns() // 1_000 * 1_000
        clock.set(offset_us, rate, start_ns // 1_000)
        for _ in range(3):
            time.sleep(0.1)  # pace: the time over which the clock gains
            asked_ms = (time.time_ns() - start_ns) / 1e6
            reading = child.read()
            answered_ms = (time.time_ns() - start_ns) / 1e6
            least_ms, most_ms = sorted((rate * asked_ms, rate * answered_ms))
            for name, (least, most) in reading.wall_ms.items():
                # TAI is some leap seconds ahead, and the slope counts them in.
                ahead_ms = rate * (time.clock_gettime_ns(time.CLOCK_TAI) - time.time_ns()) / 1e6 * (name == "tai")
                grown = (least - offset_us / 1e3 - ahead_ms, most - offset_us / 1e3 - ahead_ms)
                assert grown[0] <= most_ms + 0.01, (name, reading)
                assert grown[1] >= least_ms - 0.01, (name, reading)
            assert all(reading.steady_within.values()), reading
        clock.set(0)
        assert_shifted(child, 0)


def test_restoring_gives_back_the_kernels_own_bytes_and_may_be_repeated() -> None:
    with telling() as child:
        before = entries_of(child)
        clock = ProcessClock(child.pid)
        clock.restore()
        assert entries_of(child) == before
        for offset_us in (5_000_000, -7_000_000):
            clock.set(offset_us)
            assert entries_of(child) != before
            assert_shifted(child, offset_us)
            clock.restore()
            clock.restore()
            assert entries_of(child) == before == vdso.own().image[: vdso.own().room]


def test_nobody_else_is_shifted() -> None:
    with telling() as child, telling() as other:
        ProcessClock(child.pid).set(3_600_000_000)
        assert_shifted(other, 0)
        assert ProcessClock(other.pid).offset_us() is None
        assert vdso.own.__wrapped__() == vdso.own(), "our own clock functions were changed"


def test_a_forked_child_begins_with_the_offset_and_then_has_its_own() -> None:
    with telling() as parent:
        parent_clock = ProcessClock(parent.pid)
        parent_clock.set(5_000_000)
        (forked,) = parent.say("fork")
        forked_clock = ProcessClock(forked)
        assert forked_clock.offset_us() == 5_000_000
        assert_shifted(parent, 5_000_000)  # it is the forked one that answers now
        forked_clock.set(-2_000_000)
        assert_shifted(parent, -2_000_000)
        assert parent_clock.offset_us() == 5_000_000
        assert parent.process.stdin is not None
        parent.process.stdin.close()
        parent.process.wait()


def test_the_process_runs_on_and_one_that_was_stopped_stays_stopped() -> None:
    with telling() as child:
        clock = ProcessClock(child.pid)
        clock.set(1_000_000)
        assert psutil.Process(child.pid).status() != psutil.STATUS_STOPPED
        os.kill(child.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        clock.restore()
        assert psutil.Process(child.pid).status() == psutil.STATUS_STOPPED
        os.kill(child.pid, signal.SIGCONT)
        assert_shifted(child, 0)


def test_a_thread_within_the_first_instructions_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held there by an instruction that does nothing and one that jumps to itself, where clock_gettime begins."""
    monkeypatch.setattr(process_clock, "_CLEAR_WITHIN_S", 0.1)
    known = vdso.own()
    entry = known.entries["__vdso_clock_gettime"]
    with telling() as child:
        clock = ProcessClock(child.pid)
        assert child.process.stdin is not None
        assert child.process.stdout is not None
        with halted(child.pid):
            write(child, entry, b"\x90\xeb\xfe")
        child.process.stdin.write("tell\n")
        child.process.stdin.flush()
        until_spinning(child)
        with pytest.raises(CannotStep, match="has not the clock functions"):
            clock.set(1_000_000)  # what stands there is not the kernel's: nothing is written over it
        with monkeypatch.context() as blind:
            blind.setattr(ProcessClock, "_is_changed", lambda self, image: False)
            with pytest.raises(CannotStep, match="does not leave the clock's code"):
                clock.set(1_000_000)
        with halted(child.pid):  # let it go on, by way of our own code
            write(child, known.room, stub.block(stub.slot(0)))
            write(child, entry + 1, stub.jump(entry + 1, known.room + stub.ENTRIES["__vdso_clock_gettime"]))
        assert child.process.stdout.readline()
        with halted(child.pid):
            write(child, entry, known.image[entry : entry + 6])
        clock.set(1_000_000)
        assert_shifted(child, 1_000_000)


def until_spinning(child: Child) -> None:
    """Until it has used 50 ms of processor time: it answers in less."""
    process = psutil.Process(child.pid)
    used = sum(process.cpu_times()[:2])
    give_up = time.monotonic() + 20.0
    while sum(process.cpu_times()[:2]) < used + 0.05:
        assert time.monotonic() < give_up
        time.sleep(0.01)  # pace: between two looks, bounded by the deadline


def test_a_process_that_is_gone() -> None:
    with telling() as child:
        clock = ProcessClock(child.pid)
        clock.set(0)
        child.process.kill()
        child.process.wait()
        for act in (lambda: clock.set(1), clock.restore, clock.offset_us, lambda: ProcessClock(child.pid)):
            with pytest.raises(ProcessLookupError):
                act()


def test_a_zombie_is_gone_too() -> None:
    with telling() as child:
        clock = ProcessClock(child.pid)
        child.process.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(ProcessLookupError):
            clock.set(1)


def test_somebody_elses_process_is_refused_with_what_to_do() -> None:
    """Asked by an account without rights, for a process of ours; where we have none either, for the first process."""
    root = os.geteuid() == 0
    with telling() as child:
        reader, writer = os.pipe()
        told = "nothing was refused"
        asking = os.fork()
        if asking == 0:
            try:
                if root:
                    os.setgroups([])
                    os.setresuid(65534, 65534, 65534)
                ProcessClock(child.pid if root else 1).set(0)
            except (CannotStep, OSError) as refusal:
                told = f"{type(refusal).__name__}: {refusal}"
            finally:
                os.write(writer, told.encode())
                os._exit(0)
        os.waitpid(asking, 0)
        os.close(writer)
        with os.fdopen(reader) as answer:
            told = answer.read()
    assert told.startswith("CannotStep: the kernel does not let lockbench change"), told
    assert "ptrace_scope" in told


def test_another_machine_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(CannotStep, match=r"needs Linux on x86-64; this is linux on aarch64"):
        vdso.own.__wrapped__()


@pytest.mark.parametrize("image", [b"", b"\x7fELF\x01" + bytes(8_187), vdso.own().image[:4_096], bytes(8_192)])
def test_an_image_that_is_no_vdso_is_refused(image: bytes) -> None:
    with pytest.raises((ValueError, struct.error)):
        vdso.parse(image)


def test_a_vdso_without_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    full = vdso.Vdso(vdso.own().image, vdso.own().entries, len(vdso.own().image) - stub.SIZE + 1)
    monkeypatch.setattr(vdso, "own", lambda: full)
    with telling() as child, pytest.raises(CannotStep, match="no room"):
        ProcessClock(child.pid)

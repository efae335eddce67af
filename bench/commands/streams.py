"""Standard streams on which printing cannot fail, whatever the process was started with.

A stream may be closed, its reader or its terminal may be gone, its disk full, its encoding without the sign that is
printed. None of this may end a campaign or keep servers from being stopped. What standard output could not take is
reported once, at the end; what standard error could not take has no reader left.
"""

import codecs
import errno
import io
import os
import sys
import unicodedata

_ERRORS = "lockbench-signs"
_SPELLED = {
    "≥": ">=", "≤": "<=", "≈": "~", "±": "+-", "×": "x", "−": "-", "µ": "u", "…": "...", "–": "-", "—": "-",
    "‘": "'", "’": "'", "“": '"', "”": '"', "→": "->", "·": "-", "•": "*", "✓": "yes", "✗": "no", "∞": "inf",
}  # fmt: skip


class Output:
    """What became of standard output."""

    def __init__(self) -> None:
        self.problem: str | None = None  # why something that was printed is lost
        self.left = False  # its reader went away, as `head` does: it wanted no more, so there is nothing to tell


class _NeverFailing(io.RawIOBase):
    """A descriptor that takes everything; what could not be written is noted in `output` and forgotten."""

    def __init__(self, descriptor: int, closed: bool, output: Output) -> None:
        self._descriptor = descriptor
        self._refused: OSError | None = OSError(errno.EBADF, os.strerror(errno.EBADF)) if closed else None
        self._output = output

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, chunk: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        if self._refused is None:
            try:
                return os.write(self._descriptor, chunk)
            except OSError as refused:
                self._refused = refused
        self._output.left = self._refused.errno == errno.EPIPE
        self._output.problem = self._refused.strerror
        return len(chunk)


def mend_streams() -> Output:
    """Replace the standard streams by ones that never fail, here and in the Python processes that are started.

    Called before anything else is opened: a descriptor below 3 that is closed would be given to the next file.
    """
    codecs.register_error(_ERRORS, _spelled)
    closed = {descriptor for descriptor in range(3) if _fill(descriptor)}
    output = Output()
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8")
    encoding = (sys.stdout or sys.stderr or sys.stdin).encoding
    sys.stdout = _text(_NeverFailing(1, 1 in closed, output), encoding)
    sys.stderr = _text(_NeverFailing(2, 2 in closed, Output()), encoding)
    os.environ["PYTHONIOENCODING"] = f"{encoding}:backslashreplace"
    return output


def _text(raw: io.RawIOBase, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, _ERRORS, line_buffering=True)


def _fill(descriptor: int) -> bool:
    """Open /dev/null in the place of a closed descriptor; was it closed? The lowest free one is taken by open(2)."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)
        os.set_inheritable(descriptor, True)
        return True
    return False


def _spelled(failure: UnicodeError) -> tuple[str, int]:
    """The error handler: signs of ours in ASCII, lines of tables and spinners as a dash, all else as its number."""
    if not isinstance(failure, UnicodeEncodeError):
        raise failure
    signs = failure.object[failure.start : failure.end]
    return "".join(_in_ascii(sign) for sign in signs), failure.end


def _in_ascii(sign: str) -> str:
    if sign in _SPELLED:
        return _SPELLED[sign]
    if unicodedata.category(sign) == "So":
        return "-"
    return sign.encode("ascii", "backslashreplace").decode("ascii")

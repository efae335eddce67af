"""Numbers as print has them."""

MINUS = "\u2212"
NO_BREAK = "\u00a0"


def minus(number: str) -> str:
    """A number that Python has written, with the sign that print has for less than nothing: −6 %, −1,981."""
    return number.replace("-", MINUS)


def percent(share: float, decimals: int = 0, *, signed: bool = False) -> str:
    """A share as print has it, on one line: 95 %, 97.5 %, +6 %."""
    return minus(f"{100.0 * share:{'+' if signed else ''}.{decimals}f}{NO_BREAK}%")

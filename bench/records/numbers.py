"""Numbers as print has them."""

MINUS = "\u2212"


def minus(number: str) -> str:
    """A number that Python has written, with the sign that print has for less than nothing: −6 %, −1,981."""
    return number.replace("-", MINUS)

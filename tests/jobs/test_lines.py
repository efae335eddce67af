"""Lines of code are those that hold code, so a comment more costs no way anything."""

import pytest

from bench.jobs.way import count_lines
from bench.jobs.ways import WAYS, lines_of_way

SOURCE = '''"""What it is."""

import os  # a comment beside code


class Thing:
    """Its docstring,
    on two lines."""

    # a comment
    sql = """SELECT 1,
        2"""

    def do(self):
        """Another."""
        return os.getpid(
            # within
        )
'''


def test_comments_docstrings_and_blanks_are_no_code() -> None:
    code = ["import os", "class Thing:", 'sql = """SELECT 1,', '2"""', "def do(self):", "return os.getpid(", ")"]
    assert count_lines(SOURCE) == len(code)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_small_enough_to_compare(way: str) -> None:
    assert 5 < lines_of_way(way) < 40

"""Ranges of runs name exactly the runs that they were made of."""

from hypothesis import given
from hypothesis import strategies as st

from bench.report.run_ranges import run_ranges
from tests.report.ranges import expanded

IDS = st.builds(
    lambda stem, number, width: f"{stem}-{number:0{width}}",
    st.sampled_from(["gc-pause-redis", "1/etcd-rate", "a-1"]),
    st.integers(0, 12),
    st.integers(1, 3),
)


@given(st.lists(IDS | st.sampled_from(["odd", "odd-", "x-1y"])))
def test_they_name_each_run_once(ids: list[str]) -> None:
    named = [run_id for told in run_ranges(ids) for run_id in expanded(told)]
    assert sorted(named) == sorted(set(ids))


def test_what_they_look_like() -> None:
    assert run_ranges(["r-02", "r-01", "r-04", "other", "r-03", "r-07"]) == ["other", "r-01..04", "r-07"]
    assert run_ranges(f"r-{number:02}" for number in range(98, 102)) == ["r-98..99", "r-100..101"]

"""ZooKeeper paths and the order of a queue, without a server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.systems.zookeeper.names import node_prefix, own_name, parent_path, predecessor, sequence_of

KEYS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=40)
ROOT = "/lockbench"


@given(KEYS)
def test_a_key_becomes_one_plain_path_part(key: str) -> None:
    root, _, part = parent_path(ROOT, key).rpartition("/")
    assert root == "/lockbench"
    assert part
    assert part.isascii()
    assert part.isprintable()
    assert "." not in part


@given(KEYS, KEYS)
def test_two_keys_never_share_a_queue(one: str, other: str) -> None:
    assert (parent_path(ROOT, one) == parent_path(ROOT, other)) == (one == other)


def test_dots_and_slashes_do_not_leave_the_root() -> None:
    assert parent_path(ROOT, "..") == "/lockbench/%2E%2E"
    assert parent_path(ROOT, "a/b") == "/lockbench/a%2Fb"
    assert parent_path(ROOT, "a%2Fb") == "/lockbench/a%252Fb"


def test_order_is_by_number_and_not_by_name() -> None:
    names = ["z_0000000001", "a_0000000003", "m_0000000002"]
    assert predecessor(names, "a_0000000003") == "m_0000000002"
    assert predecessor(names, "m_0000000002") == "z_0000000001"
    assert predecessor(names, "z_0000000001") is None


def test_order_does_not_depend_on_the_order_of_the_list() -> None:
    names = ["c_0000000010", "c_0000000008", "c_0000000009"]
    assert predecessor(reversed(names), "c_0000000010") == predecessor(names, "c_0000000010") == "c_0000000009"


def test_a_number_that_turned_negative_is_before_all_others() -> None:
    assert sequence_of("a_-2147483648") == -2_147_483_648
    assert sequence_of("a_-000000005") == -5
    assert predecessor(["a_-2147483648", "b_0000000001"], "b_0000000001") == "a_-2147483648"


def test_nodes_that_are_no_contenders_are_ignored() -> None:
    assert predecessor(["note", "x_12", "a_0000000005"], "a_0000000005") is None


def test_own_place_without_a_number_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="'mine' is not the name of a contender"):
        predecessor(["a_0000000001"], "mine")


def test_own_name_is_found_by_its_whole_owner() -> None:
    names = ["c-11_0000000001", "c-1_0000000002"]
    assert own_name(names, node_prefix("c-1")) == "c-1_0000000002"
    assert own_name(names, node_prefix("c-2")) is None


def test_an_owner_with_an_underscore_keeps_its_number_apart() -> None:
    assert sequence_of(f"{node_prefix('a_0000000009')}0000000004") == 4

"""One lock's item in the table, and the requests that a lock makes of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bench.systems.dynamodb.calls import ConditionFailed, NoAnswer, NotDone, call
from bench.systems.dynamodb.tables import LOCKS

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Values = Mapping[str, Mapping[str, str]]


class Clause(NamedTuple):
    """A piece of an expression, and the values that it names."""

    text: str
    values: Values = {}  # noqa: RUF012 - never changed


class Item:
    """What was read of an item: every attribute as text, None where it has none.

    `holder` is there while the lock is held. `fence` counts the grants, and `version` changes with every grant and
    renewal; both stay when the holder goes.
    """

    def __init__(self, attributes: Mapping[str, Mapping[str, str]]) -> None:
        self._attributes = attributes

    def __getitem__(self, attribute: str) -> str | None:
        typed = self._attributes.get(attribute, {})
        return typed.get("S", typed.get("N"))


class LockItems:
    """The items of the locks' table, each by its key."""

    def __init__(self, client: "DynamoDBClient") -> None:
        self._client = client

    def take(self, key: str, owner: str, free: Clause, lease: Clause) -> Item:
        """Make `owner` the holder of a `free` item, and count the grant. Raises ConditionFailed, NotDone, NoAnswer."""
        update = f"SET holder = :owner, version = :owner, {lease.text} ADD fence :one"
        values = {**texts(owner=owner), **numbers(one=1), **free.values, **lease.values}
        return self._update(key, update, free.text, values)

    def prolong(self, key: str, owner: str, version: str, lease: Clause) -> None:
        """Write a new version and lease if `owner` is the holder. Raises ConditionFailed, NotDone, NoAnswer."""
        values = {**texts(owner=owner, version=version), **lease.values}
        self._update(key, f"SET version = :version, {lease.text}", "holder = :owner", values)

    def free(self, key: str, owner: str) -> None:
        """Take the holder away if it is `owner`. Raises ConditionFailed, NotDone, NoAnswer."""
        self._update(key, "REMOVE holder", "holder = :owner", texts(owner=owner))

    def read(self, key: str) -> Item | None:
        """The item as it is, by a consistent read. None: no answer."""
        try:
            answer = call(self._client.get_item, TableName=LOCKS, Key={"k": {"S": key}}, ConsistentRead=True)
        except (NotDone, NoAnswer):
            return None
        return Item(answer.get("Item", {}))

    def undo(self, key: str, owner: str) -> bool:
        """Leave nothing of an attempt that failed. False: it is not known whether there is something."""
        try:
            self.free(key, owner)
        except ConditionFailed:
            return True
        except (NotDone, NoAnswer):
            return False
        return True

    def _update(self, key: str, update: str, condition: str, values: Values) -> Item:
        answer = call(
            self._client.update_item,
            TableName=LOCKS,
            Key={"k": {"S": key}},
            UpdateExpression=update,
            ConditionExpression=condition,
            ExpressionAttributeValues=values,
            ReturnValues="UPDATED_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        return Item(answer.get("Attributes", {}))


def texts(**values: str) -> Values:
    """Values of an expression, as text: `owner="a"` is `:owner`."""
    return {f":{name}": {"S": value} for name, value in values.items()}


def numbers(**values: int) -> Values:
    """Values of an expression, as numbers."""
    return {f":{name}": {"N": str(value)} for name, value in values.items()}

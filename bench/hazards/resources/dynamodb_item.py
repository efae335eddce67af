"""An item in a table of the DynamoDB API with the highest token in an attribute. Atomic because a conditional update of
one item is: the fence is its condition.

An update either raises the highest token or does not, and DynamoDB has no "greater of two": there is an update for each
case. The condition of the first is `highest <= token`. Where it fails, the second, on `highest > token`, cannot: the
highest token only rises, so what was too old stays too old. The log is in the item too, since there is no other place
that the same update could reach: it ends at the size of an item, 400 KB, after some 1 500 attempts on a key.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bench.errors import LockbenchError
from bench.hazards.resources.base import (
    ANSWER_WITHIN_S,
    Attempt,
    HostOnServers,
    Judged,
    Place,
    Reading,
    Resource,
    ResourceUnreachable,
    Rule,
)
from bench.servers.endpoint import Endpoint
from bench.systems.dynamodb.calls import ConditionFailed, NoAnswer, NotDone, call, shared_client

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE = "lockbench_resources"  # the locks' is lockbench_locks
_CALL_TIMEOUT_MS = round(ANSWER_WITHIN_S * 1000)
_ACTIVE_WITHIN_S = 20.0
_LOOK_EVERY_S = 0.05
# The log: maps from attempt to what was so before it (as it stood in the item when the update struck).
_LOG = ("orders", "verdicts", "highests", "values", "senders")
_Attributes = Mapping[str, Any]


class DynamoDBItem(Resource):
    """One user of the process's shared client."""

    kind: ClassVar[str] = "dynamodb-item"

    def __init__(self, endpoint: Endpoint, space: str) -> None:
        self._client: DynamoDBClient = shared_client(endpoint, _CALL_TIMEOUT_MS)
        self._space = space
        self._made: set[str] = set()  # keys whose item is surely there

    @classmethod
    def open(cls, place: Place) -> Self:
        opened = cls(Endpoint.from_tree(place["endpoint"]), place["space"])
        _call(opened._client.describe_table, TableName=TABLE)
        return opened

    def read(self, key: str) -> Reading:
        item = self._item(key, "#value, #highest", "value", "highest")
        return Reading(_number(item, "value"), _number(item, "highest")) if item else Reading(0, 0)

    def write(self, attempt: Attempt) -> Judged:
        self._make(attempt.key)
        rises = "<" if attempt.fence and attempt.rule is Rule.AT_MOST else "<="
        stays = {"<": ">=", "<=": ">"}[rises]
        try:
            if attempt.token is None:
                return self._judge(attempt, "", accept=True)
            try:
                return self._judge(attempt, f"#highest {rises} :token", accept=True)
            except ConditionFailed:
                return self._judge(attempt, f"#highest {stays} :token", accept=not attempt.fence)
        except ConditionFailed:  # both cases excluded: this attempt was judged before
            return self._judged_before(attempt)

    def judged(self, key: str) -> Sequence[Judged]:
        item = self._item(key, ", ".join(f"#{name}" for name in _LOG), *_LOG)
        found = [_verdict(item, attempt_id) for attempt_id in item["orders"]["M"]] if item else []
        return sorted(found, key=lambda verdict: verdict.order)

    def close(self) -> None:
        return  # the client is the process's

    def _judge(self, attempt: Attempt, case: str, *, accept: bool) -> Judged:
        """Judge it in one of the two cases. Raises ConditionFailed for the other, or for an attempt judged before."""
        update = [
            # The right-hand sides are what stood in the item before this update.
            "#orders.#attempt = #next_order",
            "#highests.#attempt = #highest",
            "#values.#attempt = #value",
            "#verdicts.#attempt = :verdict",
            "#senders.#attempt = :sender",
            "#next_order = #next_order + :one",
        ]
        sender = {
            "actor": {"S": attempt.actor},
            "held_under": {"S": attempt.grant},
            "token": {"N": str(attempt.token)} if attempt.token is not None else {"NULL": True},
            "value": {"N": str(attempt.value)} if attempt.value is not None else {"NULL": True},
        }
        values: dict[str, Any] = {":verdict": {"BOOL": accept}, ":sender": {"M": sender}, ":one": {"N": "1"}}
        if accept and attempt.value is not None:
            update.append("#value = :value")
            values[":value"] = {"N": str(attempt.value)}
        if case:
            values[":token"] = {"N": str(attempt.token)}
        if case.startswith("#highest <"):
            update.append("#highest = :token")
        names = ("orders", "highests", "values", "verdicts", "senders", "next_order", "highest", "value")
        condition = " AND ".join(part for part in (case, "attribute_not_exists(#orders.#attempt)") if part)
        answer = _call(
            self._client.update_item,
            TableName=TABLE,
            Key=self._key(attempt.key),
            UpdateExpression="SET " + ", ".join(update),
            ConditionExpression=condition,
            ExpressionAttributeNames={"#attempt": attempt.attempt_id, **{f"#{name}": name for name in names}},
            ExpressionAttributeValues=values,
            ReturnValues="UPDATED_NEW",
        )
        return _verdict(answer["Attributes"], attempt.attempt_id)

    def _judged_before(self, attempt: Attempt) -> Judged:
        for verdict in self.judged(attempt.key):
            if verdict.attempt_id == attempt.attempt_id:
                return verdict
        raise ResourceUnreachable(f"DynamoDB API: the item of {attempt.key!r} is gone")

    def _make(self, key: str) -> None:
        """The empty item: an update can only reach into maps that are there."""
        if key in self._made:
            return
        numbers = {"value": {"N": "0"}, "highest": {"N": "0"}, "next_order": {"N": "1"}}
        item = {**self._key(key), **numbers, **{name: {"M": {}} for name in _LOG}}
        with suppress(ConditionFailed):  # another writer came first
            _call(self._client.put_item, TableName=TABLE, Item=item, ConditionExpression="attribute_not_exists(k)")
        self._made.add(key)

    def _item(self, key: str, projection: str, *names: str) -> _Attributes | None:
        answer = _call(
            self._client.get_item,
            TableName=TABLE,
            Key=self._key(key),
            ConsistentRead=True,
            ProjectionExpression=projection,
            ExpressionAttributeNames={f"#{name}": name for name in names},
        )
        found: _Attributes | None = answer.get("Item")
        return found

    def _key(self, key: str) -> dict[str, Any]:
        return {"k": {"S": f"{self._space}/{key}"}}


class DynamoDBItemHost(HostOnServers):
    """Makes the table where it is missing. Items stay in it."""

    resource: ClassVar[type[Resource]] = DynamoDBItem

    def _prepare(self) -> None:
        try:
            _require_table(shared_client(self._endpoint, _CALL_TIMEOUT_MS))
        except (NotDone, NoAnswer) as failed:
            raise LockbenchError(f"no dynamodb-item resource at {self._endpoint}: {failed}") from failed


def _require_table(client: "DynamoDBClient") -> None:
    """Return when the table can be used. Raises NotDone or NoAnswer."""
    deadline = time.monotonic() + _ACTIVE_WITHIN_S
    try:
        call(
            client.create_table,
            TableName=TABLE,
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
    except NotDone as refused:
        if refused.code != "ResourceInUseException":  # it is there already
            raise
    while call(client.describe_table, TableName=TABLE)["Table"]["TableStatus"] != "ACTIVE":
        if time.monotonic() >= deadline:
            raise NoAnswer(f"the table {TABLE} is still being made")
        threading.Event().wait(_LOOK_EVERY_S)  # poll: the API has no event for a table that becomes active


def _call(method: Any, **request: Any) -> Any:
    """One request, one try. Raises ConditionFailed or ResourceUnreachable."""
    try:
        return call(method, **request)
    except (NotDone, NoAnswer) as failed:
        raise ResourceUnreachable(f"DynamoDB API: {failed}") from failed


def _number(attributes: _Attributes, name: str) -> int:
    return int(attributes[name]["N"])


def _verdict(log: _Attributes, attempt_id: str) -> Judged:
    one = {name: log[name]["M"][attempt_id] for name in ("orders", "verdicts", "highests", "values")}
    accepted = one["verdicts"]["BOOL"]
    return Judged(attempt_id, _number(one, "orders"), accepted, _number(one, "highests"), _number(one, "values"))

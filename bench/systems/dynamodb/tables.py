"""The bench's two tables, made idempotently, and what a DynamoDB API can be got to say about itself."""

import time
import uuid
from typing import TYPE_CHECKING

from bench.servers.endpoint import Endpoint
from bench.systems.base import ServerFacts
from bench.systems.dynamodb.calls import ConditionFailed, NoAnswer, NotDone, call

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

LOCKS = "lockbench_locks"
IDENTITY = "lockbench_identity"
_LOOK_EVERY_S = 0.05
# By the name in the `Server` header of a reply. dynalite sends none.
_ENGINES = {"": "dynalite", "Jetty": "dynamodb-local", "Server": "dynamodb"}


def pending_tables(client: "DynamoDBClient") -> list[str]:
    """Ask for the tables that do not exist; return those that cannot be used yet. Raises NotDone or NoAnswer."""
    pending = []
    for table in (LOCKS, IDENTITY):
        try:
            answer = call(client.describe_table, TableName=table)
            if "Table" not in answer:
                raise NotDone("what answers there does not speak the DynamoDB API", "not DynamoDB")
            active = answer["Table"]["TableStatus"] == "ACTIVE"
        except NotDone as refused:
            if refused.code != "ResourceNotFoundException":
                raise
            active = False
            _create(client, table)
        if not active:
            pending.append(table)
    return pending


def _create(client: "DynamoDBClient", table: str) -> None:
    try:
        call(
            client.create_table,
            TableName=table,
            AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
    except NotDone as refused:
        if refused.code != "ResourceInUseException":  # another client asked for it first
            raise


def require_tables(client: "DynamoDBClient", endpoint: Endpoint, within_s: float) -> None:
    """Return when the tables can be used. Raises ConnectionError, with the address."""
    deadline = time.monotonic() + within_s
    try:
        while pending := pending_tables(client):
            if time.monotonic() >= deadline:
                raise ConnectionError(f"DynamoDB API at {endpoint}: still making {', '.join(pending)}; try again")
            time.sleep(_LOOK_EVERY_S)  # poll: the API has no event for a table that becomes active
    except (NotDone, NoAnswer) as failed:
        raise ConnectionError(f"DynamoDB API at {endpoint}: {failed}") from failed


def identity(client: "DynamoDBClient") -> str:
    """Who keeps the tables: the API has no word for it, so the first to ask leaves a random mark there.

    An engine in memory thus has a new identity after each start. Raises NotDone or NoAnswer.
    """
    mark = {"k": {"S": "identity"}}
    try:
        new = uuid.uuid4().hex
        item = {**mark, "identity": {"S": new}}
        call(client.put_item, TableName=IDENTITY, Item=item, ConditionExpression="attribute_not_exists(k)")
        return new
    except ConditionFailed:
        kept = call(client.get_item, TableName=IDENTITY, Key=mark, ConsistentRead=True)
        return str(kept["Item"]["identity"]["S"])


def engine(client: "DynamoDBClient") -> str:
    """Which implementation answers, by its reply. Raises NotDone or NoAnswer."""
    headers = call(client.describe_table, TableName=LOCKS)["ResponseMetadata"]["HTTPHeaders"]
    signed = headers.get("server", "").partition("(")[0].partition("/")[0].strip()
    return str(_ENGINES.get(signed, signed))


def server_facts(client: "DynamoDBClient", endpoint: Endpoint) -> ServerFacts:
    """The engine names itself; its version and storage are not in the API: they are what we started, or not known."""
    name = engine(client)
    started = endpoint.options.get("engine") == name
    return ServerFacts(
        version=f"{name} {endpoint.options.get('version', '')}".strip() if started else name,
        identity=identity(client),
        durability={"storage": endpoint.options.get("storage", "not stated") if started else "not stated"},
        nodes=1,
    )

"""What an operator, or the service's own deletion by TTL, can do to one lock's item, past the adapter."""

from bench.servers.endpoint import Endpoint
from bench.systems.dynamodb.calls import NoAnswer, NotDone, call, shared_client
from bench.systems.dynamodb.tables import LOCKS

_CALL_TIMEOUT_MS = 5_000


def erase(endpoint: Endpoint, key: str) -> str:
    """Delete the item, and with it the count of its grants. Raises ConnectionError."""
    client = shared_client(endpoint, _CALL_TIMEOUT_MS)
    try:
        answer = call(client.delete_item, TableName=LOCKS, Key={"k": {"S": key}}, ReturnValues="ALL_OLD")
    except (NotDone, NoAnswer) as failed:
        raise ConnectionError(f"the DynamoDB API at {endpoint} did not delete {key!r}: {failed}") from failed
    return "deleted the item" if "Attributes" in answer else "there was no item"

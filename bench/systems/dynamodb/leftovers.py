"""What the lock table keeps for a key, asked past the adapter."""

from bench.servers.endpoint import Endpoint
from bench.systems.dynamodb.calls import shared_client
from bench.systems.dynamodb.tables import LOCKS

_WITHIN_MS = 5_000


def leftovers(endpoint: Endpoint, key: str) -> list[str]:
    """The holder in the key's item. The item itself stays by design, with the count of grants in it."""
    client = shared_client(endpoint, _WITHIN_MS)
    item = client.get_item(TableName=LOCKS, Key={"k": {"S": key}}, ConsistentRead=True).get("Item", {})
    return [f"holder {item['holder']['S']}"] if "holder" in item else []

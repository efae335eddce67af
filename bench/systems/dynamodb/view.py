"""The DynamoDB API on itself: nothing. It has no call for statistics, and the emulators keep none.

The service publishes its latencies elsewhere (CloudWatch, one value a minute), which is no view of one run.
"""

from collections.abc import Mapping

from bench.servers.endpoint import Endpoint


def read(endpoint: Endpoint) -> Mapping[str, float]:
    """Always empty, said here so that it need not be looked for."""
    del endpoint
    return {}

"""A lock service within one process: leases, tokens and a queue without a network, as a baseline."""

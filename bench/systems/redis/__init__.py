"""A lock on one Redis server, with a fencing token from the script that wins it."""

"""A lock on a Redis server that its replica has as well before it is granted."""

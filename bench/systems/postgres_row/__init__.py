"""The lock that is a row of a table: SELECT … FOR UPDATE in a transaction that stays open while the lock is held."""

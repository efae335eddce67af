"""ZooKeeper: ephemeral sequential nodes as a queue, the creation zxid as the fencing token."""

"""etcd: a session lease, a queue by create revision, and the create revision as fencing token."""

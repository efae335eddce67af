"""Which lock for whom: questions, rules in one table, and the measurements that each rule looks up."""

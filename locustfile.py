"""For `locust` in this folder: one class for each lock system, and one that follows `--system`.

    locust                                       the web page, with the options in its form
    locust RedisLockUser --workload contended    one system
    locust --headless -u 8 -t 30s --system etcd

The servers come from `lockbench up`. Everything else is in bench/load/.
"""

from bench.load import locustfile

# Locust looks for user classes among the names of this module.
globals().update({name: getattr(locustfile, name) for name in locustfile.__all__})

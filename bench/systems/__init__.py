"""One folder a system: `lock.py` is the adapter, `server.py` starts, proves and inspects its servers."""

"""Load: Locust drives it. The only package that imports locust or gevent.

`runner` and `live` belong to the other side of the process boundary: they start Locust as a subprocess and import
neither, so that the command line, threads and notebooks never run on patched sockets.
"""

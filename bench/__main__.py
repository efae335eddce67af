"""`python -m bench` is `lockbench`."""

from bench.cli import main

main()

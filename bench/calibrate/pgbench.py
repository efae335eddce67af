"""`pgbench`, the load generator that comes with PostgreSQL, with the lock's own statements as its script."""

import re
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from bench.calibrate.programs import NativeToolFailed, find_program, run_program, version_of
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.postgres_row.ambient import PREFIX
from bench.systems.postgres_row.connect import server_settings
from bench.systems.postgres_row.session import Session, as_options
from bench.systems.postgres_row.statements import BEGIN, COMMIT, CREATE, SEQUENCE

INSTALL = "sudo apt-get install postgresql  (or postgresql-contrib, where pgbench is a package of its own)"
_LENGTH_S = 2
# As the adapter sends them: prepared; BEGIN and the taking of the row in one round trip, the end in another. Each of
# pgbench's clients has a row of its own, named by its number.
SCRIPT = f"""\\startpipeline
{BEGIN};
{SEQUENCE.passing.replace("$1", ":client_id")};
\\endpipeline
{COMMIT};
"""


@dataclass(frozen=True, slots=True)
class Pgbenched:
    """What pgbench saw: transactions per second without connecting, and the median transaction (one client only)."""

    rate_per_s: float
    latency_us_p50: float | None


@dataclass(frozen=True, slots=True)
class Pgbench:
    """The program, pointed at one server that belongs to this bench alone."""

    path: str
    version: str
    endpoint: Endpoint

    @classmethod
    def find(cls, server_program: str | None, endpoint: Endpoint) -> Self:
        """Look for it beside the server. Raises NativeToolFailed."""
        path = find_program("pgbench", server_program, INSTALL)
        return cls(path, version_of(path), endpoint)

    def make_rows(self, clients: int) -> None:
        """Make the rows that the clients lock. Raises SessionLost or StatementFailed."""
        session = Session.open(self.endpoint, 5.0)
        try:
            for number in range(clients):
                session.execute(CREATE, str(number), within_s=5.0)
        finally:
            session.close()

    def run(self, clients: int) -> Pgbenched:
        """Run the script for two seconds. Raises NativeToolFailed."""
        with tempfile.TemporaryDirectory(prefix="lockbench-pgbench-") as folder:
            script = Path(folder) / "lock.sql"
            script.write_text(SCRIPT, encoding="utf-8")
            options = ["-n", "-M", "prepared", "-f", str(script), "-c", str(clients), "-j", "1", "-T", str(_LENGTH_S)]
            if clients == 1:  # a line for each transaction, which would slow a saturated pgbench down
                options += ["-l", f"--log-prefix={folder}/transactions"]
            text = run_program([self.path, *options], self._environment(), hidden=(PREFIX,))
            spent_us = [
                int(line.split()[2])
                for path in Path(folder).glob("transactions.*")
                for line in path.read_text(encoding="utf-8").splitlines()
            ]
        return Pgbenched(parse_rate(text), statistics.median(spent_us) if spent_us else None)

    def _environment(self) -> Mapping[str, str]:
        """libpq's variables: the password is in no argument list, and the session has the adapter's settings."""
        ((host, port),) = self.endpoint.addresses
        return {
            "PGHOST": host,
            "PGPORT": str(port),
            "PGDATABASE": self.endpoint.options["database"],
            "PGUSER": self.endpoint.options["user"],
            "PGPASSWORD": self.endpoint.secrets["password"],
            "PGSSLMODE": "disable",
            "PGGSSENCMODE": "disable",
            "PGOPTIONS": as_options(server_settings(ClientOptions())),
        }


def parse_rate(text: str) -> float:
    """Transactions per second from pgbench's summary. Raises NativeToolFailed, also when transactions failed."""
    rate = re.search(r"^tps = ([0-9.]+) \(without initial connection time\)", text, re.MULTILINE)
    failed = re.search(r"^number of failed transactions: ([0-9]+)", text, re.MULTILINE)
    if rate is None or (failed is not None and failed[1] != "0"):
        raise NativeToolFailed(f"pgbench did not tell its rate, or had failed transactions: {text.strip()[-400:]}")
    return float(rate[1])

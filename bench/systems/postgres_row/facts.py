"""What a PostgreSQL server says about itself: version, identity, and the settings that decide what a crash keeps."""

from bench.systems.base import ServerFacts
from bench.systems.postgres_row.session import Session

_DURABILITY = ("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "synchronous_standby_names")


def identity(session: Session, within_s: float) -> str:
    """The system identifier: made by initdb, kept over restarts, shared with physical replicas only."""
    ((identifier,),) = session.ask("SELECT system_identifier FROM pg_control_system()", within_s=within_s)
    return str(identifier)


def server_facts(session: Session, within_s: float) -> ServerFacts:
    """Ask the server. Raises SessionLost or StatementFailed."""
    settings = {
        str(name): str(setting)
        for name, setting in session.ask(
            "SELECT name, setting FROM pg_settings WHERE name = ANY(string_to_array($1, ','))",
            ",".join(("server_version", *_DURABILITY)),
            within_s=within_s,
        )
    }
    return ServerFacts(
        version=settings["server_version"],
        identity=identity(session, within_s),
        durability={name: settings[name] or "none" for name in _DURABILITY},
        nodes=1,
    )

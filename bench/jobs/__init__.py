"""Jobs on records of a database, and the ways of doing them: behind a lock and a fence, or without any lock."""

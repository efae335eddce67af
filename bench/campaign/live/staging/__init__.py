"""Holders that a reader of the live page pauses, kills and cuts off: real clients on servers of the session's own."""

"""Redlock: a majority of five independent Redis servers."""

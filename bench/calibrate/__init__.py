"""Is the instrument lighter than what it measures? Locust beside the native load generators, on the same servers."""

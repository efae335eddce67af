"""One suite over every adapter: what any lock of the bench must do, checked on its real servers."""

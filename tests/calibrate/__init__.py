"""The calibration: its native tools, its arithmetic, its page, and the command as a whole."""

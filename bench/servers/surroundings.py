"""What programs that we start see of our environment: not what would change, behind our back, what they do."""

import os

READ_BY_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


def environment_without(hidden: tuple[str, ...]) -> dict[str, str]:
    """Our environment, less the variables whose names begin with one of `hidden`."""
    return {name: value for name, value in os.environ.items() if not name.startswith(hidden)}

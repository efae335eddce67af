"""YAML that comes with the bench, as plain data: by libyaml where PyYAML has it, in a tenth of the time."""

from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str) -> Any:
    """Raises yaml.YAMLError."""
    return yaml.load(text, _LOADER)

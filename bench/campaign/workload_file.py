"""A workload file: cells under names of the user's own, in YAML. docs/workload.yaml is an example.

    systems: [redis, etcd]        optional, as are the repetitions of each cell
    repetitions: 3
    checkout:                     the cell's name in every table
      workload: contended         its kind, and its parameters by the names of the options of `lockbench run`
      systems: [redis]            optional: only some of those above
      clients: [8, 32]            each value of a list makes a cell of its own
      hold: 10ms

Values are read as the texts that stand there, so they are written as on the command line, and every mistake is named
with its line, all in one message.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from bench.campaign.asked import BY_OPTION, BadWorkload, mistakes_of, read_all, sweep, unsuitable
from bench.campaign.modes import Asked, Mode, choose_systems
from bench.errors import LockbenchError
from bench.load.bounds import whole
from bench.records.workload import WORKLOADS
from bench.systems.registry import System

PLANS = Path(__file__).parent / "plans"
PLAN_NAMES = tuple(sorted(path.name for path in PLANS.iterdir()))
REPETITIONS_AT_MOST = 1_000
_FORMULA = "=+-@"  # names stand in CSV files
_SYSTEMS, _REPETITIONS, _WORKLOAD = "systems", "repetitions", "workload"
_ALL = "all"  # on the command line
_MERGE = "tag:yaml.org,2002:merge"
_BYTES_AT_MOST = 65_536
_NAME_CHARACTERS_AT_MOST = 60


@dataclass(frozen=True, slots=True)
class WorkloadFile:
    """What a file asks for; `repetitions` is None where it does not say."""

    cells: tuple[Asked, ...]
    systems: tuple[System, ...]
    repetitions: int | None


def plan_of_the_bench(name: str, mode: str) -> Path | None:
    """The file of a sweep that comes with the bench, such as `contention`, in that mode; None where nothing has that
    name. Raises BadWorkload with the modes that it has where it lacks this one.
    """
    if name not in PLAN_NAMES:
        return None
    if not (path := PLANS / name / f"{mode}.yaml").is_file():
        raise BadWorkload(
            f"{name} has no {mode} sweep: it has {', '.join(sorted(p.stem for p in path.parent.iterdir()))}"
        )
    return path


def read_workload_file(path: Path, mode: Mode, systems: Sequence[System] | None = None) -> WorkloadFile:
    """Read a file, and check it for these systems, else for its own or all. Raises BadWorkload with all mistakes."""
    return _Reading(path, mode).read(systems)


class _Reading:
    """One reading of one file, with the mistakes found so far."""

    def __init__(self, path: Path, mode: Mode) -> None:
        self._path, self._mode = path, mode
        self._wrong: list[str] = []

    def read(self, given: Sequence[System] | None) -> WorkloadFile:
        top = self._mapping(self._root(), "")
        own = self._systems(top.pop(_SYSTEMS, None))
        systems = tuple(own if given is None else given)
        repetitions = self._repetitions(top.pop(_REPETITIONS, None))
        if not top and not self._wrong:
            self._wrong.append("there is no workload in it; see docs/workload.yaml for an example")
        cells = tuple(cell for name, node in top.items() for cell in self._cells(name, node, systems))
        if self._wrong:
            raise BadWorkload(f"{self._path}: {'; '.join(self._wrong)}")
        return WorkloadFile(cells, systems, repetitions)

    def _root(self) -> yaml.Node | None:
        try:
            with self._path.open("rb") as file:
                content = file.read(_BYTES_AT_MOST + 1)
            if len(content) > _BYTES_AT_MOST:
                raise BadWorkload(f"{self._path}: larger than {_BYTES_AT_MOST // 1024} KiB: is this a workload file?")
            return yaml.compose(content.decode(), Loader=yaml.SafeLoader)
        except OSError as refused:
            raise BadWorkload(f"{self._path}: {refused.strerror}") from refused
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as broken:
            mark = getattr(broken, "problem_mark", None)
            where = f"line {mark.line + 1}: " if mark else ""
            why = getattr(broken, "problem", None) or "it cannot be read"
            raise BadWorkload(f"{self._path}: {where}this is no YAML: {why}") from broken

    def _systems(self, node: yaml.Node | None) -> tuple[System, ...]:
        if node is None:
            return choose_systems(["all"])
        try:
            return choose_systems(self._texts(node, _SYSTEMS))
        except LockbenchError as unknown:
            self._say(node, _SYSTEMS, str(unknown))
        return ()

    def _repetitions(self, node: yaml.Node | None) -> int | None:
        if node is None:
            return None
        try:
            if not isinstance(node, yaml.ScalarNode):
                raise ValueError("write one number")
            return whole(1, REPETITIONS_AT_MOST)(node.value)
        except ValueError as mistake:
            self._say(node, _REPETITIONS, str(mistake))
        return None

    def _cells(self, name: str, node: yaml.Node, systems: Sequence[System]) -> Sequence[Asked]:
        """The cells of one name; none where something is wrong with them."""
        before = len(self._wrong)
        self._check_name(name, node)
        parts = self._mapping(node, name)
        kind, chosen = parts.pop(_WORKLOAD, None), parts.pop(_SYSTEMS, None)
        only = frozenset(entry.name for entry in self._systems(chosen)) if chosen is not None else None
        systems = [entry for entry in systems if only is None or entry.name in only]
        workload = str(kind.value) if kind is not None else ""
        if workload not in WORKLOADS:
            self._say(kind or node, f"{name}, {_WORKLOAD}", f"choose one of {', '.join(WORKLOADS)}")
        values = {}
        for option, value in parts.items():
            place = self._place(value, f"{name}, {option}")
            one = BY_OPTION.get(option)
            if one is None:
                self._wrong.append(f"{place}: there is no such parameter; there are {', '.join(BY_OPTION)}")
                continue
            values[one.field] = read_all(one, self._texts(value, f"{name}, {option}"), self._wrong, place)
            if workload in WORKLOADS:
                self._wrong += [f"{place}: {why}" for why in unsuitable(one, [workload])]
        if len(self._wrong) > before:
            return ()
        try:
            cells = tuple(replace(cell, systems=only) for cell in sweep(workload, values, name))
        except ValueError as mistake:
            self._say(node, name, str(mistake))
            return ()
        for option, why in mistakes_of(cells, systems, self._mode):
            self._say(parts.get(option, node), f"{name}, {option}", why)
        return cells

    def _check_name(self, name: str, node: yaml.Node) -> None:
        """It stands in tables, and folders are named after it."""
        if name.casefold() in WORKLOADS:
            self._say(node, name, "this is the name of a workload: give the cell a name of its own")
        elif name.casefold() == _ALL:
            self._say(node, name, "this means every workload: give the cell a name of its own")
        elif not (name.isprintable() and any(map(str.isalnum, name))):
            self._say(node, repr(name), "a name is printable, and has a letter or a digit")
        elif name[0] in _FORMULA:
            self._say(node, name, f"a spreadsheet would take what begins with {name[0]} for a formula")
        elif len(name) > _NAME_CHARACTERS_AT_MOST:
            self._say(node, f"{name[:20]}…", f"a name has at most {_NAME_CHARACTERS_AT_MOST} characters")

    def _mapping(self, node: yaml.Node | None, where: str) -> dict[str, yaml.Node]:
        """The parts of a node by their names, each named once."""
        if not isinstance(node, yaml.MappingNode):
            if node is not None:
                self._say(node, where, "write `name: value` lines here")
            return {}
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                self._say(key, where, "`<<` is not supported: write the parameters out")
                continue
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name in found:
                self._say(key, ", ".join(filter(None, (where, name))), "stands here a second time")
            found[name] = value
        return found

    def _texts(self, node: yaml.Node, where: str) -> list[str]:
        """A text, or a list of texts, as they stand in the file."""
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if not nodes or not all(isinstance(one, yaml.ScalarNode) for one in nodes):
            self._say(node, where, "write one value, or a list of values in brackets")
            return []
        return [one.value for one in nodes]

    def _say(self, node: yaml.Node, where: str, why: str) -> None:
        self._wrong.append(f"{self._place(node, where)}: {why}")

    @staticmethod
    def _place(node: yaml.Node, where: str) -> str:
        return f"line {node.start_mark.line + 1}{', ' if where else ''}{where}"

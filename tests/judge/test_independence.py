"""The judge shares no code with what it judges: it imports itself, the standard library, and a reader of Parquet."""

import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# The tests and what they render with know both sides.
BOTH_SIDES = {"renderings", "conftest", "hand_made"}
JUDGE = sorted(
    ".".join(path.relative_to(HERE).with_suffix("").parts)
    for path in HERE.rglob("*.py")
    if not path.stem.startswith("test_") and path.stem not in BOTH_SIDES
)


ALLOWED = {*sys.stdlib_module_names, "pyarrow"}


def test_the_judge_imports_nothing_of_lockbench() -> None:
    for name in JUDGE:
        for node in ast.walk(ast.parse((HERE / f"{name.replace('.', '/')}.py").read_text())):
            told = []
            if isinstance(node, ast.Import):
                told = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}: relative import"
                told = [node.module or ""]
            for module in told:
                inside = module.removeprefix("tests.judge").removeprefix(".")
                own = inside != module and (inside in JUDGE or f"{inside}.__init__".removeprefix(".") in JUDGE)
                assert own or module.partition(".")[0] in ALLOWED, f"{name} imports {module}"


def test_nothing_of_lockbench_is_loaded_with_it() -> None:
    modules = ", ".join(f"tests.judge.{name}".removesuffix(".__init__") for name in JUDGE)
    asked = f"import sys, {modules}; print(sorted({{name.partition('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run(
        [sys.executable, "-c", asked], cwd=HERE.parents[1], capture_output=True, text=True, check=True
    ).stdout
    assert "'tests'" in loaded
    for foreign in ("'bench'", "'pydantic'", "'pandas'"):
        assert foreign not in loaded


def test_the_judge_opens_plans_and_histories_only(tmp_path: Path) -> None:
    run = tmp_path / "one"
    run.mkdir()
    (run / "plan.json").write_text(
        '{"run_id": "one", "scenario": "gc-pause", "system": "redis", "position": 0, "parameters": {}}'
    )
    (run / "history.json").write_text('{"trials": [{"name": "1"}], "staging": []}')
    (run / "checked.json").write_text("not read")
    asked = (
        "import sys\n"
        "from pathlib import Path\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, told: opened.append(Path(str(told[0])).name) if event == 'open' else None)\n"
        "from tests.judge.records import runs_of\n"
        f"runs = runs_of(Path({str(tmp_path)!r}))\n"
        "print(len(runs[0].trials), [name for name in opened if name.endswith('.json')])\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", asked], cwd=HERE.parents[1], capture_output=True, text=True, check=True
    ).stdout
    assert told.strip() == "1 ['plan.json', 'history.json']"

"""What `make site` shows beside docs/: pages that lie elsewhere in the project, and the reference of the command.

A hook of MkDocs (its user guide, "Configuration"). Links stay as they are in the repository: here
each is turned into one between pages, or, where what it names is no page, into its text.
"""

import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:|#")


@cache
def places() -> Mapping[str, str]:
    """Where what lies outside docs/ is on the site: by its path in the repository."""
    systems = {
        path.relative_to(ROOT).as_posix(): f"systems/{path.parent.name}.md"
        for path in sorted(ROOT.glob("bench/systems/*/README.md"))
    }
    figures = {path: path for path in (f"figures/{found.name}" for found in sorted((ROOT / "figures").iterdir()))}
    return {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", **systems, **figures}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures from elsewhere, and what is made of the command and of the list of systems."""
    for path, uri in places().items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    for uri, text in (("commands.md", _commands()), ("systems.md", _systems())):
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """The same text with its links between pages."""
    here = page.file.src_uri
    found = {uri: path for path, uri in places().items()}.get(here, f"docs/{here}")
    return linked(markdown, found, here)


def linked(markdown: str, path: str, here: str) -> str:
    """A page of the repository (`path`) with the links that it has on the site, where it is `here`."""

    def replaced(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        if _ELSEWHERE.match(target):
            return match[0]
        file, hash_, anchor = target.partition("#")
        named = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        uri = places().get(named) or (named.removeprefix("docs/") if _is_doc(named) else None)
        if uri is None:
            return words
        return f"{mark}[{words}]({posixpath.relpath(uri, posixpath.dirname(here) or '.')}{hash_}{anchor})"

    return _LINK.sub(replaced, markdown)


def _is_doc(named: str) -> bool:
    return named.startswith("docs/") and not named.endswith(".yaml")


def _commands() -> str:
    """Every command with its options, as the command itself tells them."""
    from typer.cli import get_docs_for_click
    from typer.main import get_command
    from typer.models import Context

    from bench.cli import app

    command = get_command(app)
    return get_docs_for_click(obj=command, ctx=Context(command), name="lockbench", title="Commands")


def _systems() -> str:
    pages = [uri for uri in places().values() if uri.startswith("systems/")]
    lines = (f"- [{Path(uri).stem.replace('_', '-')}]({uri})" for uri in pages)
    return "# Systems\n\nEach folder of `bench/systems/` describes its algorithm.\n\n" + "\n".join(lines) + "\n"

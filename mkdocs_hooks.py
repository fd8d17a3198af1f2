"""Hooks of the site: the README is its first page, and links into the rest of the repository lead to its files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
_INTO_DOCS = re.compile(r"\]\(docs/")
_OUT_OF_DOCS = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#\s]*)(?:#[^)\s]*)?\)")
_FOLDER = re.compile(r"\[([^\]]*)\]\(tour\)")


def on_files(files: Any, config: Any) -> Any:
    """Puts the README in front."""
    from mkdocs.structure.files import File

    text = _INTO_DOCS.sub("](", (ROOT / "README.md").read_text("utf-8"))
    files.append(File.generated(config, "index.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Makes text of links to what the site does not have, files beside the pages and folders."""
    home = (ROOT / "docs" / page.file.src_uri).parent

    def unlinked(found: re.Match[str]) -> str:
        target = (home / found[2]).resolve()
        inside = target.is_relative_to(ROOT / "docs") and target.suffix == ".md"
        return found[0] if inside else found[1]

    return _FOLDER.sub(r"\1", _OUT_OF_DOCS.sub(unlinked, markdown))

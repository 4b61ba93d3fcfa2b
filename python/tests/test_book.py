"""The manual as a site: mdBook builds it without a warning, and the links of its pages lead somewhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from scene import REPOSITORY


class Page(HTMLParser):
    """The links and the ids of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is not None and name == "id":
                self.ids.add(value)
            if value is not None and name in ("href", "src"):
                self.links.append(unquote(value))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    mdbook = Path(sys.executable).parent / "mdbook"
    command = [mdbook, "build", "--dest-dir", site / "docs", REPOSITORY]
    built = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "WARN" not in built.stderr and "ERROR" not in built.stderr, built.stderr
    shutil.copytree(REPOSITORY / "experiments", site / "experiments")
    return site


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {
        path: Page(path) for path in site.rglob("*.html") if path.name not in ("404.html", "toc.html", "print.html")
    }
    assert len(pages) > 50
    faults: list[str] = []
    for path, page in pages.items():
        for link in page.links:
            file, _, fragment = link.partition("#")
            if ":" in file:
                continue
            target = (path.parent / file).resolve() if file else path
            if not target.exists():
                faults.append(f"{path.name}: {link}: there is no such file")
            elif fragment and target in pages and fragment not in pages[target].ids:
                faults.append(f"{path.name}: {link}: it has no such heading")
    assert faults == []


def test_the_site_is_searched_and_dark(site: Path) -> None:
    assert list((site / "docs").glob("searchindex*.js"))
    assert 'id="mdbook-theme-ayu"' in (site / "docs" / "index.html").read_text()

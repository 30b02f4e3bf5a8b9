"""Put the plugin's page together: `uv run python -m scripts.page`. LangBot serves a page as one HTML file."""

import json
from pathlib import Path
from typing import Any

from adapters import BACKENDS
from scripts.forms import form

ROOT = Path(__file__).parents[1]
PARTS = ROOT / "console" / "page"
PAGE = ROOT / "components" / "pages" / "console" / "index.html"


def page() -> str:
    """The page's text: the template with style, words, script and the services' forms in it."""
    text = (PARTS / "page.html").read_text("utf-8")
    forms = json.dumps({tag: _form(tag) for tag in BACKENDS}, ensure_ascii=False).replace("</", "<\\/")
    for mark, part in {"forms": forms, **{p.name: p.read_text("utf-8").strip() for p in PARTS.glob("*.*")}}.items():
        text = text.replace(f"{{{{{mark}}}}}", part)
    return text


def _form(tag: str) -> dict[str, Any]:
    """What a connection of one service is made of, whether datasets can be chosen for it, and how it is searched."""
    told = form(tag)
    fields = [field for field in told["spec"]["creation_schema"] if field["name"] != "check_on_save"]
    return {
        "label": told["metadata"]["label"],
        "fields": fields,
        "lists": BACKENDS[tag].lists,
        "retrieval": told["spec"]["retrieval_schema"],
    }


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")

"""LangBot's web page in headless Chromium, as an admin uses it."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.langbot import PASSWORD, USER, LangBot

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
TOURS = ("langbot_sidebar_guide_v1", "langbot_knowledge_detail_guide_v1", "langbot_home_guide_v1")
ASSISTANT = '[class*="_dock_"], [class*="_panel_"] { display: none !important; }'


@contextlib.contextmanager
def opened(langbot: LangBot, language: str = "en-US", width: int = 1280, height: int = 1700) -> Iterator["Page"]:
    """A logged-in page without guided tours, in a browser of its own."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # group host, which only a run of these tests needs

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            page = browser.new_page(locale=language, viewport={"width": width, "height": height})
            page.set_default_timeout(20_000)
            token = langbot.call("POST", "/api/v1/user/auth", {"user": USER, "password": PASSWORD})["token"]
            told = {
                "token": token,
                "userEmail": USER,
                "langbot_language": language,
                **dict.fromkeys(TOURS, "completed"),
            }
            page.add_init_script(f"Object.entries({json.dumps(told)}).forEach(([k, v]) => localStorage.setItem(k, v))")
            yield page
        finally:
            browser.close()


def shoot(page: "Page", folder: Path, name: str) -> None:
    """A screenshot without the host's floating assistant."""
    page.add_style_tag(content=ASSISTANT)
    page.wait_for_timeout(500)
    page.screenshot(path=folder / f"{name}.png")


def start_knowledge_base(page: "Page", langbot: LangBot, engine: str, name: str) -> None:
    """The page's first step: choose the engine, name the knowledge base."""
    page.goto(f"{langbot.base}/home/knowledge?id=new", wait_until="domcontentloaded")
    page.locator('[data-guide="knowledge-engine"] [role="combobox"]').first.click()
    page.get_by_role("option").filter(has_text=engine).first.click()
    page.locator('input[name="name"]').fill(name)
    page.locator("button[type=submit][form=kb-form]").click()
    page.wait_for_url("**/home/knowledge?id=*-*")


def fill(page: "Page", label: str, value: str) -> None:
    """Type into the field below a label."""
    page.locator(f'xpath=//label[starts-with(normalize-space(.), "{label}")]/following::input[1]').first.fill(value)


def save(page: "Page") -> None:
    """The page's second step."""
    page.locator("button[type=submit][form=kb-form]").click()


def expect(locator: "Locator") -> Any:
    """Playwright's assertions, which wait."""
    from playwright.sync_api import expect as expected  # noqa: PLC0415

    return expected(locator)

"""LangBot's web page in headless Chromium, as an admin uses it."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.langbot import PASSWORD, USER, LangBot

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

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
ASSISTANT = '[class*="_dock_"], [class*="_panel_"], [class*="_welcome_"] { display: none !important; }'


@contextlib.contextmanager
def chromium() -> Iterator["Browser"]:
    """A browser that reaches nothing but this machine."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # group host, which only a run of these tests needs

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def opened(
    browser: "Browser", langbot: LangBot, language: str | None = "en-US", width: int = 1280, height: int = 1700
) -> Iterator["Page"]:
    """A logged-in page without guided tours, with storage of its own; no language: English until it is changed."""
    context = browser.new_context(locale=language or "en-US", viewport={"width": width, "height": height})
    try:
        page = context.new_page()
        page.set_default_timeout(20_000)
        token = langbot.call("POST", "/api/v1/user/auth", {"user": USER, "password": PASSWORD})["token"]
        told = {"token": token, "userEmail": USER, **dict.fromkeys(TOURS, "completed")}
        told |= {"langbot_language": language} if language else {}
        page.add_init_script(f"Object.entries({json.dumps(told)}).forEach(([k, v]) => localStorage.setItem(k, v))")
        yield page
    finally:
        context.close()


def shoot(page: "Page", folder: Path, name: str) -> None:
    """A screenshot without the host's floating assistant."""
    page.add_style_tag(content=ASSISTANT)
    page.wait_for_timeout(500)
    page.screenshot(path=folder / f"{name}.png")


def start_knowledge_base(page: "Page", langbot: LangBot, engine: str, name: str) -> None:
    """The page's first step: choose the engine, name the knowledge base.

    LangBot now and then answers the step with nothing at all, so it is made up to three times.
    """
    from playwright.sync_api import TimeoutError as Late  # noqa: PLC0415

    for last in (False, False, True):
        page.goto(f"{langbot.base}/home/knowledge?id=new", wait_until="domcontentloaded")
        page.locator('[data-guide="knowledge-engine"] [role="combobox"]').first.click()
        page.get_by_role("option").filter(has_text=engine).first.click()
        page.locator('input[name="name"]').fill(name)
        page.locator("button[type=submit][form=kb-form]").click()
        try:
            page.wait_for_url("**/home/knowledge?id=*-*", wait_until="commit", timeout=10_000)
        except Late:
            if last:
                raise
        else:
            return


def open_knowledge_base(page: "Page", langbot: LangBot, plugin: str, name: str) -> None:
    """The page's second step for a knowledge base that has only a name and an engine."""
    base = langbot.draft(plugin, name)
    page.goto(f"{langbot.base}/home/knowledge?id={base}", wait_until="domcontentloaded")


def below(page: "Page", label: str, what: str) -> "Locator":
    """The first element of a kind below a label."""
    named = f'normalize-space(translate(., "*", "")) = "{label}"'
    return page.locator(f"xpath=//label[{named}]/following::{what}[1]").first


def fill(page: "Page", label: str, value: str) -> None:
    """Type into the field below a label."""
    below(page, label, "input").fill(value)


def choose(page: "Page", label: str, option: str) -> None:
    """Choose in the select below a label."""
    below(page, label, '*[@role="combobox"]').click()
    page.get_by_role("option", name=option, exact=True).click()


def labels(page: "Page") -> list[str]:
    """The labels of the form as they stand, without their stars."""
    return [" ".join(text.replace("*", " ").split()) for text in page.locator("form label").all_inner_texts()]


def save(page: "Page") -> None:
    """The page's second step."""
    page.locator("button[type=submit][form=kb-form]").click()


def expect(locator: "Locator") -> Any:
    """Playwright's assertions, which wait."""
    from playwright.sync_api import expect as expected  # noqa: PLC0415

    return expected(locator)

"""The plugin's page in a real LangBot and a real browser; what needs no host is tried over a stage (test_staged.py)."""

import re

import pytest

from sandbox.langbot import as_json
from tests.e2e.page import ASSISTANT, expect, opened, shoot

pytestmark = pytest.mark.e2e

PLUGIN = "knowledge-bridge/KnowledgeBridge"
QUESTION = "After how many days are refunds paid?"
LISTING = ["dify", "ragflow", "fastgpt", "anything_llm", "weknora"]
SAVED = "Saved. It takes effect"


def console(page, langbot, tab="", plugin=PLUGIN):
    page.goto(f"{langbot.base}/home/plugin-pages?id={plugin}/console", wait_until="domcontentloaded")
    frame = page.frame_locator("iframe")
    frame.locator("nav button").first.wait_for()
    page.add_style_tag(content=ASSISTANT)
    if tab:
        frame.get_by_role("tab", name=tab).click()
    return frame


def fill(frame, settings):
    frame.locator("#backend").select_option(settings["backend"])
    for name, value in settings.items():
        box = frame.locator(f"#field-{name}")
        if name != "backend" and box.count():
            box.select_option(value) if name == "route" else box.fill(str(value))


def menu(page):
    """The user's menu of LangBot."""
    page.keyboard.press("Escape")
    page.locator("[data-sidebar=footer] button, [data-slot=sidebar-footer] button").last.click()
    page.locator("[role=menu]").wait_for()


def ask(frame, source):
    frame.get_by_role("tab", name="Search").click()
    frame.locator("#source").select_option(label=source)
    frame.locator("#asked").fill(QUESTION)
    frame.locator("#ask").click()


def test_a_service_is_swapped_without_touching_the_knowledge_base(browser, langbot, sandbox, shots):  # noqa: PLR0915
    with opened(browser, langbot, height=1000) as page:
        frame = console(page, langbot, "Connections")
        expect(frame.get_by_text("No connections yet")).to_be_visible()
        shoot(page, shots, "console-empty")
        frame.get_by_role("button", name="Add a connection").click()
        frame.get_by_label("Name", exact=True).fill("Lamp shop")
        fill(frame, sandbox["dify"])
        frame.locator("#question").fill(QUESTION)
        frame.locator("#test").click()
        expect(frame.get_by_text("✓ Search")).to_be_visible(timeout=20_000)
        expect(frame.get_by_text("1. refund-policy.md")).to_be_visible()
        shoot(page, shots, "console-tested")
        frame.locator("#save").click()
        expect(frame.get_by_text(SAVED)).to_be_visible()
        shoot(page, shots, "console-connections")

        base = langbot.create(PLUGIN, {"backend": "connection", "connection": "Lamp shop"}, "Lamp shop by connection")
        assert as_json(langbot.search(base, QUESTION))[0]["metadata"]["dataset_id"] == sandbox["dify"]["dataset_id"]

        edit = frame.get_by_role("button", name="Edit: Lamp shop")
        edit.click()
        assert sandbox["dify"]["api_key"] not in page.frames[-1].content()
        frame.locator("#field-api_base_url").fill("http://127.0.0.1:9/v1")
        expect(frame.get_by_text("is sent nowhere else")).to_be_visible()
        frame.locator("#field-api_base_url").fill(sandbox["dify"]["api_base_url"])
        expect(frame.get_by_text("is sent nowhere else")).not_to_be_visible()
        frame.locator("#backend").select_option("fastgpt")
        expect(frame.get_by_text("is sent nowhere else")).to_be_visible()
        expect(frame.locator("#field-dataset_id")).to_have_value("")
        shoot(page, shots, "console-key-again")
        fill(frame, sandbox["fastgpt"])
        expect(frame.get_by_text("is sent nowhere else")).not_to_be_visible()
        frame.locator("#save").click()
        expect(frame.get_by_text(SAVED)).to_be_visible()
        assert as_json(langbot.search(base, QUESTION))[0]["metadata"]["dataset_id"] == sandbox["fastgpt"]["dataset_id"]

        edit.click()
        frame.locator("#field-api_key").fill("fastgpt-brokenSecret99")
        frame.locator("#save").click()
        expect(frame.get_by_text("Not saved, since the test failed.")).to_be_visible()
        shoot(page, shots, "console-not-saved")
        frame.locator("#anyway").click()
        expect(frame.get_by_text(SAVED)).to_be_visible()
        assert langbot.search(base, QUESTION).status_code == 500
        frame.get_by_role("tab", name="Overview").click()
        expect(frame.locator("#overview-bases").get_by_text("The key was refused").first).to_be_visible()
        shoot(page, shots, "console-overview")
        ask(frame, "Lamp shop by connection")
        expect(frame.locator("#found").get_by_text("the API key was refused")).to_be_visible(timeout=20_000)
        assert "brokenSecret" not in langbot.log

    langbot.stop()
    langbot.start()
    with opened(browser, langbot, height=1000) as page:
        frame = console(page, langbot, "Connections")
        expect(frame.get_by_text("Used by: Lamp shop by connection")).to_be_visible()
        frame.get_by_role("button", name="Edit: Lamp shop").click()
        frame.locator("#field-api_key").fill(sandbox["fastgpt"]["api_key"])
        frame.locator("#name").fill("Lantern shop")
        frame.locator("#save").click()
        expect(frame.locator("#confirm").get_by_text("is in use by Lamp shop by connection")).to_be_visible()
        shoot(page, shots, "console-rename")
        frame.locator("#confirm-yes").click()
        expect(frame.get_by_text(SAVED)).to_be_visible()
        expect(frame.get_by_text("Goes on answering as Lamp shop")).to_be_visible()
        shoot(page, shots, "console-renamed")
        ask(frame, "Lamp shop by connection")
        expect(frame.get_by_text("1. refund-policy.md")).to_be_visible(timeout=20_000)
        shoot(page, shots, "console-search")


@pytest.mark.parametrize("tag", LISTING)
def test_a_service_is_connected_by_choosing_its_dataset(tag, browser, langbot, sandbox, shots):
    settings = sandbox[tag]
    with opened(browser, langbot, height=1000) as page:
        frame = console(page, langbot, "Connections")
        frame.locator("#add").click()
        frame.locator("#name").fill(f"chosen {tag}")
        fill(frame, {name: settings[name] for name in ("backend", "api_base_url", "api_key")})
        frame.locator("#choose").click()
        frame.locator(f'[id="dataset-{settings["dataset_id"]}"]').check()
        shoot(page, shots, f"console-choose-{tag}")
        frame.locator("#chooser-take").click()
        frame.locator("#save").click()
        expect(frame.get_by_text(SAVED)).to_be_visible(timeout=20_000)
    base = langbot.create(PLUGIN, {"backend": "connection", "connection": f"chosen {tag}"})
    assert as_json(langbot.search(base, QUESTION))[0]["metadata"]["document_name"] == "refund-policy.md"


def test_two_modes_of_a_knowledge_base_are_compared_through_langbot(browser, langbot, sandbox, shots):
    base = langbot.create(PLUGIN, sandbox["dify"], "Compared")
    as_json(langbot.search(base, QUESTION))
    with opened(browser, langbot, height=1400) as page:
        frame = console(page, langbot, "Search")
        frame.locator("#source").select_option(label="Compared")
        frame.locator("#search-settings > summary").click()
        frame.locator("#compare").click()
        frame.locator("#variant-0-search_mode").select_option("semantic")
        frame.locator("#variant-1-search_mode").select_option("full_text")
        frame.locator("#asked").fill(QUESTION)
        frame.locator("#ask").click()
        columns = frame.locator("#found .columns > section")
        expect(columns.nth(1).get_by_text("Search mode: Full text (words)")).to_be_visible(timeout=20_000)
        expect(columns.nth(0).get_by_text("1. refund-policy.md")).to_be_visible()
        expect(columns.nth(1).get_by_text(re.compile("in 1: rank|only here")).first).to_be_visible()
        shoot(page, shots, "console-compared")
        frame.get_by_role("tab", name="Overview").click()
        expect(frame.locator("#overview-calls").get_by_text("tried on this page").first).to_be_visible()


def test_a_refused_save_stands_on_the_page_with_its_reason(browser, langbot, sandbox):
    base = langbot.draft(PLUGIN, "Refused")
    assert langbot.save(base, {**sandbox["dify"], "dataset_id": "handbook"}).status_code == 500
    with opened(browser, langbot) as page:
        frame = console(page, langbot)
        expect(
            frame.locator("#overview-calls").get_by_text("dataset_id holds no Dify dataset id").first
        ).to_be_visible()


def test_the_users_language_and_theme_change_while_a_form_is_open(browser, langbot, shots):
    """LangBot loads everything anew with another language, and tells the page of another theme."""
    with opened(browser, langbot, language=None) as page:
        frame = console(page, langbot, "Connections")
        frame.locator("#add").click()
        frame.locator("#name").fill("half typed")
        for language, word in (("简体中文", "名称"), ("日本語", "名前"), ("English", "Name")):
            page.wait_for_timeout(1500)
            menu(page)
            page.locator("[role=menu] [role=combobox]").click()
            page.get_by_role("option", name=language).click()
            expect(frame.get_by_label(word, exact=True)).to_have_value("half typed")
            page.add_style_tag(content=ASSISTANT)
            shoot(page, shots, f"console-switched-{word}")
        menu(page)
        for _ in range(3):
            page.locator("[role=menu] button").nth(1).click()
            expect(frame.get_by_label("Name", exact=True)).to_have_value("half typed")
        page.keyboard.press("Escape")
        frame.locator("#cancel").click()
        frame.locator("#confirm-yes").click()
        expect(frame.locator("#add")).to_be_focused()


@pytest.mark.parametrize("language", ["zh-Hans", "ja-JP"])
def test_it_speaks_the_users_language_on_a_phone_and_in_the_dark(language, browser, langbot, shots):
    with opened(browser, langbot, language, width=390, height=844) as page:
        page.add_init_script("localStorage.setItem('langbot-theme', 'dark'); localStorage.setItem('theme', 'dark')")
        page.emulate_media(color_scheme="dark")
        frame = console(page, langbot)
        title = {"zh-Hans": "知识桥", "ja-JP": "ナレッジブリッジ"}[language]
        expect(frame.get_by_role("heading", name=title)).to_be_visible()
        shoot(page, shots, f"console-{language}-phone")
        wide = page.frames[-1].evaluate("document.documentElement.scrollWidth > innerWidth + 1")
        assert not wide


def test_it_works_by_keyboard(browser, langbot):
    with opened(browser, langbot) as page:
        frame = console(page, langbot)
        frame.get_by_role("tab", name="Overview").focus()
        page.keyboard.press("End")
        expect(frame.get_by_role("tab", name="Connections")).to_be_focused()
        frame.get_by_role("button", name="Add a connection").focus()
        page.keyboard.press("Enter")
        expect(frame.get_by_label("Name", exact=True)).to_be_focused()


def test_the_package_of_one_service_says_that_connections_are_elsewhere(browser, langbot):
    with opened(browser, langbot) as page:
        frame = console(page, langbot, "Connections", "knowledge-bridge/DifyBridge")
        expect(frame.get_by_text("This package has one fixed service.")).to_be_visible()

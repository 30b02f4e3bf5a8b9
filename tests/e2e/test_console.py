"""The plugin's page in a real browser: a service is swapped under a knowledge base, and the page says what it said."""

import pytest

from sandbox.langbot import as_json
from tests.e2e.page import expect, opened, shoot

pytestmark = pytest.mark.e2e

PLUGIN = "knowledge-bridge/KnowledgeBridge"
QUESTION = "After how many days are refunds paid?"


def console(page, langbot, tab="", plugin=PLUGIN):
    page.goto(f"{langbot.base}/home/plugin-pages?id={plugin}/console", wait_until="domcontentloaded")
    frame = page.frame_locator("iframe")
    frame.locator("nav button").first.wait_for()
    if tab:
        frame.get_by_role("tab", name=tab).click()
    return frame


def fill(frame, settings):
    frame.locator("#backend").select_option(settings["backend"])
    for name, value in settings.items():
        box = frame.locator(f"#field-{name}")
        if name != "backend" and box.count():
            box.select_option(value) if name == "route" else box.fill(str(value))


def test_a_service_is_swapped_without_touching_the_knowledge_base(browser, langbot, sandbox, shots):  # noqa: PLR0915
    with opened(browser, langbot, height=1000) as page:
        frame = console(page, langbot, "Connections")
        expect(frame.get_by_text("No connections yet")).to_be_visible()
        shoot(page, shots, "console-empty")
        frame.get_by_role("button", name="Add a connection").click()
        frame.get_by_label("Name", exact=True).fill("Lamp shop")
        fill(frame, sandbox["dify"])
        frame.get_by_label("Question for the test").fill(QUESTION)
        frame.get_by_role("button", name="Test").click()
        expect(frame.get_by_text("✓ search: 3 passages")).to_be_visible(timeout=20_000)
        expect(frame.get_by_text("1. refund-policy.md")).to_be_visible()
        shoot(page, shots, "console-tested")
        frame.get_by_role("button", name="Save").click()
        expect(frame.get_by_text("Saved.")).to_be_visible()
        shoot(page, shots, "console-connections")

        base = langbot.create(PLUGIN, {"backend": "connection", "connection": "Lamp shop"}, "Lamp shop by connection")
        assert as_json(langbot.search(base, QUESTION))[0]["metadata"]["dataset_id"] == sandbox["dify"]["dataset_id"]

        frame.get_by_role("button", name="Edit").click()
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
        frame.get_by_role("button", name="Save").click()
        expect(frame.get_by_text("Saved.")).to_be_visible()
        assert as_json(langbot.search(base, QUESTION))[0]["metadata"]["dataset_id"] == sandbox["fastgpt"]["dataset_id"]

        frame.get_by_role("button", name="Edit").click()
        frame.locator("#field-api_key").fill("fastgpt-brokenSecret99")
        frame.get_by_role("button", name="Save").click()
        expect(frame.get_by_text("Saved.")).to_be_visible()
        assert langbot.search(base, QUESTION).status_code == 500
        frame.get_by_role("tab", name="Overview").click()
        expect(frame.get_by_text("the API key was refused").first).to_be_visible()
        shoot(page, shots, "console-overview")
        frame.get_by_role("tab", name="Search").click()
        frame.get_by_label("Choose a knowledge base").select_option(label="Lamp shop by connection")
        frame.get_by_label("What to search for").fill(QUESTION)
        frame.get_by_role("button", name="Ask").click()
        expect(frame.get_by_text("the API key was refused")).to_be_visible(timeout=20_000)
        assert "brokenSecret" not in langbot.log

    langbot.stop()
    langbot.start()
    with opened(browser, langbot, height=1000) as page:
        frame = console(page, langbot, "Connections")
        frame.get_by_role("button", name="Edit").click()
        frame.locator("#field-api_key").fill(sandbox["fastgpt"]["api_key"])
        frame.get_by_role("button", name="Save").click()
        expect(frame.get_by_text("Saved.")).to_be_visible()
        frame.get_by_role("tab", name="Search").click()
        frame.get_by_label("Choose a knowledge base").select_option(label="Lamp shop by connection")
        frame.get_by_label("What to search for").fill(QUESTION)
        frame.get_by_role("button", name="Ask").click()
        expect(frame.get_by_text("1. refund-policy.md")).to_be_visible(timeout=20_000)
        shoot(page, shots, "console-search")


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
        frame.get_by_role("tab", name="Connections").focus()
        page.keyboard.press("Enter")
        frame.get_by_role("button", name="Add a connection").focus()
        page.keyboard.press("Enter")
        expect(frame.get_by_label("Name", exact=True)).to_be_focused()


def test_the_package_of_one_service_says_that_connections_are_elsewhere(browser, langbot):
    with opened(browser, langbot) as page:
        frame = console(page, langbot, "Connections", "knowledge-bridge/DifyBridge")
        expect(frame.get_by_text("This package has one fixed service.")).to_be_visible()

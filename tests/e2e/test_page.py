"""The forms in the real page: filled, saved, searched, and looked at in every language."""

import pytest

from adapters import BACKENDS
from scripts.package import manifests
from tests.e2e.page import fill, opened, save, shoot, start_knowledge_base

pytestmark = pytest.mark.e2e

LABELS = {"API address": "api_base_url", "API key": "api_key", "Dataset ID": "dataset_id"}
LANGUAGES = {"en-US": "en_US", "zh-Hans": "zh_Hans", "ja-JP": "ja_JP"}


@pytest.mark.parametrize("package", ["KnowledgeBridge", "DifyBridge"])
def test_a_form_is_filled_saved_and_searched(package, langbot, sandbox, shots):
    settings, engine = sandbox["dify"], langbot.engines()[f"knowledge-bridge/{package}"]
    with opened(langbot) as page:
        start_knowledge_base(page, langbot, engine["name"]["en_US"], f"made in the page {package}")
        page.get_by_text("Dataset ID").first.wait_for()
        for label, name in LABELS.items():
            fill(page, label, settings[name])
        shoot(page, shots, f"{package}-filled")
        save(page)
        tab = page.get_by_role("tab").filter(has_text="Retriev")
        tab.first.wait_for()
        page.wait_for_timeout(1500)
        assert not page.locator("[data-slot=form-message]").all_inner_texts()
        assert not page.get_by_role("tab").filter(has_text="Document").count()
        tab.first.click()
        box = page.locator("[role=tabpanel] input").first
        box.fill("After how many days are refunds paid?")
        box.press("Enter")
        page.get_by_text("refund-policy.md").first.wait_for()
        shoot(page, shots, f"{package}-searched")
        assert page.get_by_text("Distance: 0.").count() >= 1
        key = page.locator('input[type="password"]')
        assert settings["api_key"] not in page.locator("body").inner_text()
        assert key.count() in (0, 1)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("package", manifests())
def test_the_form_speaks_the_users_language(package, language, langbot, shots):
    label = manifests()[package]["metadata"]["label"]
    engine = langbot.engines()[f"knowledge-bridge/{package}"]
    fields = engine["creation_schema"]["schema"] + engine["retrieval_schema"]["schema"]
    with opened(langbot, language, height=2300) as page:
        base = langbot.draft(f"knowledge-bridge/{package}", f"{label['en_US']} {language}")
        page.goto(f"{langbot.base}/home/knowledge?id={base}", wait_until="domcontentloaded")
        shown = [field["label"][LANGUAGES[language]] for field in fields if "show_if" not in field]
        page.get_by_text(shown[-1]).first.wait_for()
        body = page.locator("body").inner_text()
        assert [words for words in shown if words not in body] == []
        shoot(page, shots, f"{package}-form-{language}")


def test_every_backend_has_a_package():
    assert len(manifests()) == len(BACKENDS) + 1

"""The forms in the real page: filled, saved, searched, and looked at in every language."""

import pytest

from adapters import BACKENDS
from scripts.package import ALL_IN_ONE, manifests
from tests.e2e.page import (
    choose,
    expect,
    fill,
    labels,
    open_knowledge_base,
    opened,
    save,
    shoot,
    start_knowledge_base,
)

pytestmark = pytest.mark.e2e

QUESTION = "After how many days are refunds paid?"
LANGUAGES = {"en-US": "en_US", "zh-Hans": "zh_Hans", "ja-JP": "ja_JP"}
PACKAGES = list(manifests())
CHOICES = [*BACKENDS, "connection"]
WAYS = [(ALL_IN_ONE, tag) for tag in ("dify", "ragflow", "jinba")] + list(zip(PACKAGES[1:], BACKENDS, strict=True))


class Form:
    """The words of a package's form in one language."""

    def __init__(self, langbot, package, language="en-US"):
        self.plugin, self.language = f"knowledge-bridge/{package}", LANGUAGES[language]
        engine = langbot.engines()[self.plugin]
        self.engine = engine["name"]["en_US"]
        self.creation = engine["creation_schema"]["schema"]
        self.fields = self.creation + engine["retrieval_schema"]["schema"]

    def label(self, name):
        return next(field["label"][self.language] for field in self.fields if field["name"] == name)

    def option(self, name, value):
        options = next(field["options"] for field in self.fields if field["name"] == name)
        return next(option["label"][self.language] for option in options if option["name"] == value)

    def shown(self, **chosen):
        """The labels that should stand there, given what the selects say."""
        values = {field["name"]: field["default"] for field in self.creation} | chosen
        return [field["label"][self.language] for field in self.fields if _holds(field.get("show_if"), values)]


def _holds(condition, values):
    if not condition:
        return True
    value, wanted = values[condition["field"]], condition["value"]
    return value in wanted if condition["operator"] == "in" else value == wanted


def settle(page, shown):
    """Wait for the form, and hold it against the labels that should stand there."""
    page.wait_for_function(
        "last => [...document.querySelectorAll('form label')].some(label => label.innerText.includes(last))",
        arg=shown[-1],
    )
    page.wait_for_timeout(200)
    assert [label for label in labels(page) if label in shown] == shown


@pytest.fixture(scope="module", params=LANGUAGES)
def spoken(request, browser, langbot):
    """A page in one language."""
    with opened(browser, langbot, request.param, height=2600) as page:
        yield page, request.param


@pytest.mark.parametrize(("package", "tag"), WAYS)
def test_a_form_is_filled_saved_and_searched(package, tag, browser, langbot, sandbox, shots):
    settings, form = sandbox[tag], Form(langbot, package)
    with opened(browser, langbot) as page:
        start_knowledge_base(page, langbot, form.engine, f"made in the page {package} {tag}")
        page.get_by_text(form.label("check_on_save")).first.wait_for()
        if package == ALL_IN_ONE and tag != "dify":
            choose(page, form.label("backend"), form.option("backend", tag))
        for field in form.creation:
            if field["type"] in ("string", "secret") and field["name"] in settings:
                fill(page, field["label"]["en_US"], settings[field["name"]])
        shoot(page, shots, f"{package}-{tag}-filled")
        save(page)
        tab = page.get_by_role("tab").filter(has_text="Retriev")
        tab.first.wait_for()
        page.wait_for_timeout(1500)
        assert not page.locator("[data-slot=form-message]").all_inner_texts()
        assert not page.get_by_role("tab").filter(has_text="Document").count()
        tab.first.click()
        box = page.locator("[role=tabpanel] input").first
        box.fill(QUESTION)
        box.press("Enter")
        page.get_by_text("refund-policy.md").first.wait_for()
        shoot(page, shots, f"{package}-{tag}-searched")
        assert page.get_by_text("Distance: 0.").count() >= 1
        key = page.locator('input[type="password"]')
        assert settings["api_key"] not in page.locator("body").inner_text()
        assert key.count() in (0, 1)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_form_speaks_the_users_language(package, spoken, langbot, shots):
    page, language = spoken
    form = Form(langbot, package, language)
    open_knowledge_base(page, langbot, form.plugin, f"{form.engine} {language}")
    settle(page, form.shown())
    body = page.locator("body").inner_text()
    described = [f["description"][form.language] for f in form.fields if f["label"][form.language] in form.shown()]
    assert [words for words in described if words not in body] == []
    shoot(page, shots, f"{package}-form-{language}")


@pytest.mark.parametrize("choice", CHOICES)
def test_the_form_of_all_shows_what_the_chosen_service_has(choice, spoken, langbot, shots):
    page, language = spoken
    form = Form(langbot, ALL_IN_ONE, language)
    open_knowledge_base(page, langbot, form.plugin, f"{choice} {language}")
    settle(page, form.shown())
    choose(page, form.label("backend"), form.option("backend", choice))
    settle(page, form.shown(backend=choice))
    gone = set(form.shown()) - set(form.shown(backend=choice))
    assert not gone & set(labels(page))
    shoot(page, shots, f"{ALL_IN_ONE}-{choice}-{language}")


def test_jinbas_form_hides_the_flow_behind_a_search_url(spoken, langbot, shots):
    page, language = spoken
    form = Form(langbot, "JinbaBridge", language)
    open_knowledge_base(page, langbot, form.plugin, f"url {language}")
    settle(page, form.shown())
    choose(page, form.label("route"), form.option("route", "search_url"))
    expect(page.get_by_text(form.label("flow_id"), exact=True)).to_have_count(0)
    settle(page, form.shown(route="search_url"))
    assert form.label("flow_id") not in labels(page)
    shoot(page, shots, f"JinbaBridge-url-{language}")


def test_every_backend_has_a_package():
    assert len(PACKAGES) == len(BACKENDS) + 1

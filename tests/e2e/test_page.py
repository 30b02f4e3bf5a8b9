"""The forms in the real page: filled, saved, searched, and looked at in every language."""

import pytest

from adapters import BACKENDS
from scripts.package import ALL_IN_ONE, manifests
from tests.e2e.page import (
    below,
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

    def shown(self, **chosen):
        """The fields that should stand there, given what the form holds."""
        values = {field["name"]: field["default"] for field in self.creation} | chosen
        return [field for field in self.fields if _holds(field.get("show_if"), values)]

    def label(self, name, **chosen):
        return next(field["label"][self.language] for field in self.shown(**chosen) if field["name"] == name)

    def option(self, name, value, **chosen):
        options = next(field["options"] for field in self.shown(**chosen) if field["name"] == name)
        return next(option["label"][self.language] for option in options if option["name"] == value)

    def labels(self, **chosen):
        return [field["label"][self.language] for field in self.shown(**chosen)]

    def descriptions(self, **chosen):
        return {field["description"][self.language] for field in self.shown(**chosen)}

    def hidden(self, **chosen):
        """The descriptions that should not stand there."""
        return {field["description"][self.language] for field in self.fields} - self.descriptions(**chosen)


def _holds(condition, values):
    if not condition:
        return True
    value, wanted = values[condition["field"]], condition["value"]
    return {"in": lambda: value in wanted, "eq": lambda: value == wanted, "neq": lambda: value != wanted}[
        condition["operator"]
    ]()


def settle(page, form, **chosen):
    """Wait for the form, and hold it against the fields that should stand there, given what it holds."""
    shown = form.labels(**chosen)
    page.wait_for_function(
        "last => [...document.querySelectorAll('form label')].some(label => label.innerText.includes(last))",
        arg=shown[-1],
    )
    page.wait_for_timeout(200)
    every = {field["label"][form.language] for field in form.fields}
    assert [label for label in labels(page) if label in every] == shown
    body = page.locator("body").inner_text()
    assert [words for words in form.descriptions(**chosen) if words not in body] == []
    assert [words for words in form.hidden(**chosen) if words in body] == []


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
        for field in form.shown(**settings):
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
    settle(page, form)
    shoot(page, shots, f"{package}-form-{language}")


@pytest.mark.parametrize("choice", CHOICES)
def test_the_form_of_all_shows_what_the_chosen_service_has(choice, spoken, langbot, shots):
    page, language = spoken
    form = Form(langbot, ALL_IN_ONE, language)
    open_knowledge_base(page, langbot, form.plugin, f"{choice} {language}")
    settle(page, form)
    choose(page, form.label("backend"), form.option("backend", choice))
    settle(page, form, backend=choice)
    shoot(page, shots, f"{ALL_IN_ONE}-{choice}-{language}")


def test_the_form_of_all_shows_a_flows_arguments_with_a_flow(spoken, langbot, shots):
    page, language = spoken
    form = Form(langbot, ALL_IN_ONE, language)
    open_knowledge_base(page, langbot, form.plugin, f"flow {language}")
    settle(page, form)
    choose(page, form.label("backend"), form.option("backend", "jinba"))
    settle(page, form, backend="jinba")
    fill(page, form.label("flow_id", backend="jinba"), "my-flow")
    settle(page, form, backend="jinba", flow_id="my-flow")
    shoot(page, shots, f"{ALL_IN_ONE}-flow-{language}")


def test_what_was_entered_survives_another_choice(browser, langbot):
    """LangBot keeps one value for all fields of a name."""
    form = Form(langbot, ALL_IN_ONE)
    with opened(browser, langbot, height=2600) as page:
        open_knowledge_base(page, langbot, form.plugin, "another choice")
        settle(page, form)
        fill(page, form.label("api_base_url"), "http://kept")
        choose(page, form.label("search_mode"), form.option("search_mode", "hybrid"))
        for choice in ("ragflow", "connection", "fastgpt"):
            choose(page, form.label("backend"), form.option("backend", choice))
            settle(page, form, backend=choice)
        expect(below(page, form.label("api_base_url", backend="fastgpt"), "input")).to_have_value("http://kept")
        mode = below(page, form.label("search_mode", backend="fastgpt"), '*[@role="combobox"]')
        expect(mode).to_have_text(form.option("search_mode", "hybrid", backend="fastgpt"))


def test_jinbas_form_hides_the_flow_behind_a_search_url(spoken, langbot, shots):
    page, language = spoken
    form = Form(langbot, "JinbaBridge", language)
    open_knowledge_base(page, langbot, form.plugin, f"url {language}")
    settle(page, form)
    choose(page, form.label("route"), form.option("route", "search_url"))
    settle(page, form, route="search_url")
    shoot(page, shots, f"JinbaBridge-url-{language}")


def test_every_backend_has_a_package():
    assert len(PACKAGES) == len(BACKENDS) + 1

"""The page in a browser over a stage: every way that an admin goes, by mouse and by keyboard."""

import re

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from bridge.errors import BridgeError
from tests.console.host import dify
from tests.e2e.page import expect
from tests.e2e.stage import staged
from tests.recorded import DATASET, FOUND
from tests.service import Service, reply, reset, until_hung_up

pytestmark = pytest.mark.e2e

QUESTION = "After how many days are refunds paid?"
LISTING = ["dify", "ragflow", "fastgpt", "anything_llm", "weknora"]
LANGUAGES = {"en-US": "Overview", "zh-Hans": "概览", "ja-JP": "概要"}


@pytest.fixture
def stage():
    with staged() as stage:
        yield stage


@pytest.fixture
def page(browser, stage):
    """The page in English; it may write nothing to the browser's console."""
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    page.set_default_timeout(10_000)
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda said: wrong.append(said.text) if said.type == "error" and "403" not in said.text else None
    )
    page.goto(stage.base)
    page.get_by_role("tab", name="Overview").wait_for()
    yield page
    context.close()
    assert wrong == []


def tab(page, name):
    page.get_by_role("tab", name=name).click()


def begin(page, settings, name="Lamp shop"):
    """A new connection's form with everything but the dataset."""
    tab(page, "Connections")
    page.get_by_role("button", name="Add a connection").click()
    expect(page.locator("#name")).to_be_focused()
    page.locator("#name").fill(name)
    page.locator("#backend").select_option(settings["backend"])
    for field in ("api_base_url", "api_key"):
        page.locator(f"#field-{field}").fill(settings[field])


def connect(stage, settings, name="Lamp shop"):
    answer = stage.say("/connections/save", name=name, settings=settings, anyway=True)
    assert answer["ok"], answer
    return answer["connection"]


def search(stage, base, query=QUESTION, **retrieval):
    """A search as a pipeline makes it; failures are only noted."""
    context = RetrievalContext(
        query=query, knowledge_base_id=base, creation_settings=stage.plugin.bases[base], retrieval_settings=retrieval
    )
    try:
        return stage.call(stage.plugin.engine.retrieve, context)
    except BridgeError as error:
        return error


def served(stage, *answers, looked_up=DATASET):
    """A Dify that answers like this."""
    return stage.enter(Service(list(answers), looked_up=looked_up))


# ---- connections


@pytest.mark.parametrize("tag", LISTING)
def test_a_dataset_is_chosen_without_typing_an_id(tag, page, stage, sandbox):
    settings = sandbox[tag]
    begin(page, settings)
    page.get_by_role("button", name="Choose…").click()
    expect(page.locator("#sought")).to_be_focused()
    page.locator(f'[id="dataset-{settings["dataset_id"]}"]').check()
    page.get_by_role("button", name="Take over").click()
    expect(page.locator("#field-dataset_id")).to_have_value(settings["dataset_id"])
    expect(page.locator("#choose")).to_be_focused()
    page.get_by_role("button", name="Test and save").click()
    expect(page.get_by_text("Saved. It takes effect")).to_be_visible()
    found = stage.say("/search", connection="Lamp shop", query=QUESTION)["columns"][0]["entries"]
    assert found[0]["title"] == "refund-policy.md"


@pytest.mark.parametrize("tag", ["jinba", "external_knowledge"])
def test_a_service_without_a_list_offers_none(tag, page, sandbox):
    begin(page, sandbox[tag])
    expect(page.get_by_role("button", name="Choose…")).to_have_count(0)


def test_the_list_is_searched_ticked_several_times_and_left(page, sandbox):
    begin(page, sandbox["dify"])
    page.locator("#field-dataset_id").fill("typed-by-hand")
    page.locator("#choose").click()
    boxes = page.locator("dialog li")
    expect(boxes.first).to_be_visible()
    many = boxes.count()
    assert many > 1
    page.locator("#sought").fill("nothing is called like this")
    expect(boxes).to_have_count(0)
    page.locator("#sought").fill("")
    expect(boxes).to_have_count(many)
    open_ones = page.locator("dialog li input:not(:disabled)")
    for index in (0, 1):
        open_ones.nth(index).focus()
        page.keyboard.press("Space")
        expect(open_ones.nth(index)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#field-dataset_id")).to_have_value("typed-by-hand")
    page.locator("#choose").click()
    open_ones.nth(0).check()
    open_ones.nth(1).check()
    page.locator("#chooser-take").click()
    expect(page.locator("#field-dataset_id")).to_have_value(re.compile(r"^typed-by-hand, [\w-]+, [\w-]+$"))


def test_datasets_of_another_embedding_model_cant_be_ticked_together(page, sandbox):
    begin(page, sandbox["ragflow"])
    page.locator("#choose").click()
    page.locator(f'[id="dataset-{sandbox["ragflow"]["dataset_id"]}"]').check()
    expect(page.get_by_text("Another embedding model than what is ticked").first).to_be_visible()
    assert page.locator("dialog li input:disabled").count() >= 1


def test_a_wrong_key_says_so_where_datasets_are_chosen(page, sandbox):
    begin(page, sandbox["dify"] | {"api_key": "dataset-wrong"})
    page.locator("#choose").click()
    expect(page.locator("dialog").get_by_text("The key was refused")).to_be_visible()
    page.locator("#chooser-cancel").click()
    expect(page.locator("#field-api_key")).to_be_focused()
    assert "dataset-wrong" not in page.locator("body").inner_text()


def test_enter_in_the_question_tests_and_saves_nothing(page, stage, sandbox):
    begin(page, sandbox["dify"])
    page.locator("#field-dataset_id").fill(sandbox["dify"]["dataset_id"])
    page.locator("#question").fill(QUESTION)
    page.locator("#question").press("Enter")
    expect(page.locator("#outcome").get_by_text("1. refund-policy.md")).to_be_visible()
    expect(page.locator("#outcome").get_by_text("✓ Search")).to_be_visible()
    assert stage.plugin.stored == {}


def test_a_blank_test_marks_the_field_and_speaks_of_labels(page):
    tab(page, "Connections")
    page.get_by_role("button", name="Add a connection").click()
    page.locator("#name").fill("x")
    page.locator("#test").click()
    expect(page.locator("#field-api_key")).to_be_focused()
    expect(page.locator("#field-api_key")).to_have_attribute("aria-invalid", "true")
    told = page.locator("#outcome").inner_text()
    assert "“API key”" in told
    assert "api_key" not in told
    assert "knowledge base's settings" not in told
    page.locator("#field-api_key").fill("k")
    page.locator("#test").click()
    expect(page.locator("#field-dataset_id")).to_be_focused()


def test_what_fails_its_test_is_saved_only_on_a_second_wish(page, stage, sandbox):
    begin(page, sandbox["dify"] | {"api_key": "dataset-wrong"})
    page.locator("#field-dataset_id").fill(sandbox["dify"]["dataset_id"])
    page.locator("#save").click()
    expect(page.get_by_text("Not saved, since the test failed.")).to_be_visible()
    expect(page.locator("#outcome").get_by_text("The key was refused")).to_be_visible()
    expect(page.locator("#field-api_key")).to_be_focused()
    assert stage.plugin.stored == {}
    page.get_by_role("button", name="Save anyway").click()
    expect(page.get_by_text("Saved. It takes effect")).to_be_visible()
    assert stage.plugin.stored


def test_a_test_is_stopped_half_way(page, stage):
    service = served(stage, until_hung_up)
    begin(page, dify(service))
    page.locator("#field-dataset_id").fill(dify(service)["dataset_id"])
    page.locator("#test").click()
    expect(page.get_by_text("✓ Dataset")).to_be_visible()
    expect(page.locator("#outcome .clock")).to_have_text(re.compile("[1-9] s"))
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#outcome").get_by_text("Stopped", exact=True)).to_be_visible()
    expect(page.get_by_text("✓ Dataset")).to_be_visible()
    page.wait_for_timeout(200)
    assert service.hung_up == 1


def test_a_service_that_is_down_shows_which_try_it_is(page, stage):
    service = served(stage, reset(), reset(), until_hung_up)
    begin(page, dify(service))
    page.locator("#field-dataset_id").fill(dify(service)["dataset_id"])
    page.locator("#test").click()
    expect(page.get_by_text(re.compile(r"Try 3\. The one before failed: .*connection"))).to_be_visible()
    page.get_by_role("button", name="Stop").click()


def test_leaving_a_changed_form_asks_first(page, stage, sandbox):
    connect(stage, sandbox["dify"])
    tab(page, "Connections")
    page.get_by_role("button", name="Edit: Lamp shop").click()
    page.locator("#cancel").click()
    expect(page.get_by_role("button", name="Edit: Lamp shop")).to_be_focused()
    page.get_by_role("button", name="Edit: Lamp shop").click()
    page.locator("#name").fill("Lamp shop 2")
    page.locator("#cancel").click()
    page.locator("#confirm-no").click()
    expect(page.locator("#name")).to_have_value("Lamp shop 2")
    page.locator("#cancel").click()
    page.locator("#confirm-yes").click()
    expect(page.get_by_role("heading", name="Lamp shop", exact=True)).to_be_visible()


def test_a_rename_in_use_says_by_whom_and_the_old_name_goes_on(page, stage, sandbox):
    connect(stage, sandbox["dify"])
    stage.plugin.bases["a"] = {"backend": "connection", "connection": "Lamp shop"}
    stage.call(stage.plugin.engine.on_knowledge_base_create, "a", stage.plugin.bases["a"])
    tab(page, "Connections")
    expect(page.get_by_text("Used by: KB a")).to_be_visible()
    page.get_by_role("button", name="Edit: Lamp shop").click()
    page.locator("#name").fill("Lantern shop")
    page.locator("#save").click()
    expect(page.locator("#confirm").get_by_text("is in use by KB a")).to_be_visible()
    page.locator("#confirm-yes").click()
    expect(page.get_by_text("Goes on answering as Lamp shop")).to_be_visible()
    assert search(stage, "a").results
    page.get_by_role("button", name="Delete: Lantern shop").click()
    expect(page.locator("#confirm").get_by_text("is in use by KB a")).to_be_visible()
    page.locator("#confirm-no").click()
    with staged(dict(stage.plugin.stored)) as restarted:
        restarted.plugin.bases = stage.plugin.bases
        told = restarted.say("/connections")["connections"]
        assert [(c["name"], c["former"], c["used_by"]) for c in told] == [
            ("Lantern shop", ["Lamp shop"], [{"uuid": "a", "name": "KB a"}])
        ]


def test_connections_travel_without_their_keys(page, stage, sandbox):
    connect(stage, sandbox["dify"])
    connect(stage, sandbox["fastgpt"], "Second")
    tab(page, "Connections")
    page.get_by_role("button", name="Export").click()
    text = page.locator("#exported").input_value()
    assert sandbox["dify"]["api_key"] not in text
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    with staged() as other:
        page.goto(other.base)
        tab(page, "Connections")
        page.get_by_role("button", name="Import").click()
        page.locator("#imported").fill("no JSON")
        page.get_by_role("button", name="Read").click()
        expect(page.get_by_text("A setting can't be used")).to_be_visible()
        page.locator("#imported").fill(text)
        page.get_by_role("button", name="Read").click()
        page.locator("#t-0-key").fill(sandbox["dify"]["api_key"])
        page.locator("#t-1-key").fill("fastgpt-wrong")
        page.locator("#take").click()
        expect(page.get_by_text("Saved. It takes effect")).to_be_visible()
        expect(page.get_by_text("The key was refused")).to_be_visible()
        assert [c["name"] for c in other.say("/connections")["connections"]] == ["Lamp shop"]
        page.get_by_role("button", name="Save anyway").click()
        expect(page.get_by_text("Saved. It takes effect")).to_have_count(2)
        assert [c["has_key"] for c in other.say("/connections")["connections"]] == [True, True]


# ---- search


def test_two_modes_are_compared(page, stage, sandbox):
    stage.plugin.bases["a"] = sandbox["dify"]
    search(stage, "a", search_mode="hybrid")
    tab(page, "Search")
    page.locator("#asked").fill(QUESTION)
    page.locator("#search-settings > summary").click()
    expect(page.locator("#variant-0-search_mode option").first).to_have_text("as it is (Hybrid (both))")
    page.locator("#compare").click()
    page.locator("#variant-1-search_mode").select_option("full_text")
    page.locator("#variant-1-top_k").fill("2")
    page.locator("#ask").click()
    columns = page.locator("#found .columns > section")
    expect(columns).to_have_count(2)
    expect(columns.nth(1).locator("article")).to_have_count(2)
    expect(columns.nth(0).get_by_text("only here").first).to_be_visible()
    expect(columns.nth(1).get_by_text(re.compile(r"in 1: rank \d")).first).to_be_visible()
    expect(columns.nth(1).get_by_text("Search mode: Full text (words)")).to_be_visible()
    expect(columns.nth(1).get_by_text("Number of passages: 2")).to_be_visible()
    columns.nth(1).locator("#counted-1 > summary").click()
    expect(columns.nth(1).locator("dl").get_by_text("full_text")).to_be_visible()
    columns.nth(1).get_by_role("button", name="Copy").click()
    expect(columns.nth(1).get_by_role("button", name="Copied")).to_be_visible()
    tab(page, "Overview")
    tab(page, "Search")
    expect(page.locator("#asked")).to_have_value(QUESTION)
    expect(columns).to_have_count(2)


def test_a_connection_and_a_failing_setting(page, stage, sandbox):
    connect(stage, sandbox["dify"])
    tab(page, "Search")
    page.locator("#asked").fill(QUESTION)
    page.locator("#search-settings > summary").click()
    page.locator("#variant-0-score_threshold").fill("7")
    page.locator("#ask").click()
    expect(page.locator("#found").get_by_text("A setting can't be used")).to_be_visible()
    page.locator("#variant-0-score_threshold").fill("")
    page.locator("#asked").press("Enter")
    expect(page.locator("#found").get_by_text("1. refund-policy.md")).to_be_visible()
    page.locator("#filters").fill("no json")
    page.locator("#ask").click()
    expect(page.locator("#found").get_by_text("no JSON object")).to_be_visible()


# ---- overview


def test_the_overview_follows_along_and_tells_what_happened(page, stage):
    service = served(stage, FOUND)
    stage.plugin.bases |= {"a": dify(service), "b": dify(service, api_key="dataset-other"), "c": dify(service)}
    search(stage, "a")
    expect(page.get_by_role("heading", name="KB a")).to_be_visible(timeout=12_000)
    service.answers = [reply(401, {"code": "unauthorized", "message": "no"})]
    search(stage, "b")
    expect(page.locator("#overview-bases h2").first).to_have_text("KB b", timeout=12_000)
    expect(page.locator("#overview-bases").get_by_text("The key was refused").first).to_be_visible()
    page.get_by_text("1 other knowledge base").click()
    expect(page.locator("#others").get_by_text("KB c")).to_be_visible()
    rows = page.locator("#overview-calls tbody tr")
    expect(rows).to_have_count(2)
    page.locator("#filter-outcome").select_option("failed")
    expect(rows).to_have_count(1)
    rows.get_by_role("button", name="Copy").click()
    expect(rows.get_by_role("button", name="Copied")).to_be_visible()
    page.get_by_role("button", name=re.compile("Details: KB b")).press("Enter")
    opened = page.locator("tr.unfolded")
    expect(opened.get_by_text("Settings that counted")).to_be_visible()
    expect(opened.get_by_text(service.base)).to_be_visible()
    assert "dataset-other" not in page.locator("body").inner_text()
    opened.get_by_role("button", name="Copy").click()
    expect(opened.get_by_role("button", name="Copied")).to_be_visible()
    page.locator("#filter-outcome").select_option("")
    page.locator("#filter-base").select_option("a")
    expect(rows).to_have_count(1)


def test_a_long_journal_comes_in_pages(page, stage):
    service = served(stage, FOUND)
    stage.plugin.bases["a"] = dify(service)
    for _ in range(45):
        search(stage, "a")
    page.get_by_role("button", name="Refresh").click()
    expect(page.get_by_text("1–20 of 45")).to_be_visible()
    page.get_by_role("button", name="Older").click()
    expect(page.get_by_text("21–40 of 45")).to_be_visible()
    page.get_by_role("button", name="Older").click()
    expect(page.locator("#overview-calls tbody tr")).to_have_count(5)
    expect(page.get_by_role("button", name="Older")).to_be_focused()
    expect(page.get_by_text("41–45 of 45")).to_be_visible()


def test_a_refused_save_stands_there_with_its_reason(page, stage):
    stage.plugin.bases["a"] = {"backend": "connection", "connection": "nobody"}
    with pytest.raises(BridgeError):
        stage.call(stage.plugin.engine.on_knowledge_base_create, "a", stage.plugin.bases["a"])
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("#overview-calls").get_by_text("connection 'nobody' is not there")).to_be_visible()
    expect(page.locator("#overview-calls").get_by_text("on saving")).to_be_visible()


def test_without_rights_the_page_says_so_and_tries_again(page, stage):
    stage.down = True
    tab(page, "Connections")
    expect(page.get_by_text("Your account may not manage plugins")).to_be_visible()
    stage.down = False
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("No connections yet.")).to_be_visible()


# ---- languages, keyboard, sizes


def test_language_and_theme_change_while_a_form_is_half_typed(page, stage, sandbox, shots):
    begin(page, sandbox["dify"])
    page.locator("#field-api_base_url").fill("http://half.typ")
    for language in ("zh-Hans", "ja-JP", "en-US"):
        page.evaluate(f"turn('{language}', 'dark')")
        expect(page.locator("#field-api_base_url")).to_have_value("http://half.typ")
        expect(page.locator("#field-api_base_url")).to_be_focused()
        expect(page.locator("#name")).to_have_value("Lamp shop")
        expect(page.locator("#tab-overview")).to_have_text(LANGUAGES[language])
        page.screenshot(path=shots / f"staged-form-{language}.png", full_page=True)
    page.locator("#test").click()
    expect(page.locator("#outcome .failure")).to_be_visible()
    page.evaluate("turn('ja-JP', 'light')")
    expect(page.locator("#outcome").get_by_text("設定", exact=False).first).to_be_visible()


def test_a_half_typed_form_is_back_after_the_page_was_loaded_anew(page, stage, sandbox):
    begin(page, sandbox["dify"], "Half typed")
    page.wait_for_timeout(1500)
    assert sandbox["dify"]["api_key"] not in str(stage.plugin.drafts.kept(""))
    page.reload()
    expect(page.locator("#name")).to_have_value("Half typed")
    expect(page.locator("#field-api_base_url")).to_have_value(sandbox["dify"]["api_base_url"])
    expect(page.locator("#field-api_key")).to_have_value("")
    expect(page.locator("#field-api_key")).to_have_attribute("placeholder", "enter the key")
    page.locator("#cancel").click()
    page.locator("#confirm-yes").click()
    page.wait_for_timeout(1500)
    page.reload()
    tab(page, "Connections")
    expect(page.get_by_text("No connections yet.")).to_be_visible()
    expect(page.get_by_text("was being edited")).to_have_count(0)


def test_an_older_form_is_offered(page, stage, sandbox):
    stage.say("/draft", draft={"original": None, "name": "Old one", "values": sandbox["dify"], "question": ""})
    stage.plugin.drafts.kept("")["at"] -= 3600
    page.reload()
    tab(page, "Connections")
    expect(page.get_by_text("“Old one” was being edited")).to_be_visible()
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#field-dataset_id")).to_have_value(sandbox["dify"]["dataset_id"])
    page.locator("#cancel").click()
    page.locator("#confirm-yes").click()


def test_everything_is_reached_by_keyboard(page, stage, sandbox):
    settings = sandbox["dify"]
    page.locator("#tab-overview").focus()
    for name in ("search", "connections", "overview", "connections"):
        page.keyboard.press("End" if name == "connections" else "ArrowRight")
        expect(page.locator(f"#tab-{name}")).to_be_focused()
        expect(page.locator(f"#tab-{name}")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("No connections yet.")).to_be_visible()

    def go(wanted):
        for _ in range(40):
            if page.evaluate("document.activeElement.id") == wanted:
                return
            page.keyboard.press("Tab")
        raise AssertionError(wanted)

    go("add")
    page.keyboard.press("Enter")
    expect(page.locator("#name")).to_be_focused()
    page.keyboard.type("Typed")
    for field in ("api_base_url", "api_key"):
        go(f"field-{field}")
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type(settings[field])
    go("choose")
    page.keyboard.press("Enter")
    expect(page.locator("#sought")).to_be_focused()
    go(f"dataset-{settings['dataset_id']}")
    page.keyboard.press("Space")
    go("chooser-take")
    page.keyboard.press("Enter")
    go("save")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved. It takes effect")).to_be_visible()
    assert page.evaluate("document.activeElement !== document.body")
    go("c-Typed-delete")
    page.keyboard.press("Enter")
    go("confirm-yes")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No connections yet.")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "panel"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone(language, theme, browser, stage, sandbox, shots):
    connect(stage, sandbox["dify"])
    stage.plugin.bases |= {
        "a": {"backend": "connection", "connection": "Lamp shop"},
        "b": sandbox["dify"] | {"api_key": "x"},
    }
    for base in ("a", "b", "a"):
        search(stage, base)
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{stage.base}#{language},{theme}")
    page.locator(".card").first.wait_for()
    for name in ("overview", "search", "connections", "form", "chooser"):
        if name == "form":
            page.locator("#add").click()
        elif name == "chooser":
            page.locator("#choose").click()
            page.locator("dialog .failure").wait_for()
        else:
            page.locator(f"#tab-{name}").click()
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.screenshot(path=shots / f"staged-{name}-{language}-{theme}.png", full_page=name != "chooser")
    context.close()

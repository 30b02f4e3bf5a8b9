"""The point of it all: the same question, the same settings, the same best passage from every service."""

import json
import re

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from adapters import BACKENDS, Pool, list_datasets, retrieve
from sandbox.questions import SAMPLE_QUESTIONS
from sandbox.server import running
from scripts.page import PARTS

SETTINGS = [{"top_k": 5}, {"top_k": 3, "cite_source": True}, {"top_k": 8, "score_threshold": 0.05, "timeout": 30}]


@pytest.fixture(scope="module")
def sandbox():
    with running() as sandbox:
        yield sandbox


@pytest.mark.parametrize("settings", SETTINGS, ids=["plain", "cited", "threshold"])
@pytest.mark.parametrize("tag", BACKENDS)
async def test_the_same_best_passage_with_rising_distances(tag, settings, sandbox):
    async with Pool() as pool:
        for question in SAMPLE_QUESTIONS:
            response = await retrieve(
                RetrievalContext(query=question.text, creation_settings=sandbox[tag], retrieval_settings=settings), pool
            )
            first = response.results[0]
            document, _, _ = question.passage.partition("#")
            assert first.metadata["document_name"] == document, question.text
            distances = [entry.distance for entry in response.results]
            assert distances == sorted(distances), question.text
            assert all(
                entry.score is not None and entry.score >= settings.get("score_threshold", 0)
                for entry in response.results
            )
            assert (first.content[0].text or "").startswith("Source: ") is settings.get("cite_source", False)


async def test_every_service_gives_the_same_words(sandbox):
    async with Pool() as pool:
        for question in SAMPLE_QUESTIONS:
            found = set()
            for tag in BACKENDS:
                context = RetrievalContext(
                    query=question.text, creation_settings=sandbox[tag], retrieval_settings={"top_k": 1}
                )
                [entry] = (await retrieve(context, pool)).results
                words = re.sub("Question: |Answer: ", "", entry.content[0].text or "")  # RAGFlow's way with Q&A
                found.add("".join(words.split()))
            assert len(found) == 1, (question.text, found)


STORY = (
    "Good morning, I hope that you are well. Last week my sister and I came back from a long journey through the hills. "
    "The train was late, the weather was wet, and our bags were left on the platform by somebody who never said sorry. "
    "My sister caught a cold and stayed in bed with tea and a good book, while I looked after her cat and her plants. "
    "On Tuesday the sun came out at last, and we sat in the garden and spoke of old times and of people we once knew. "
    "A neighbour brought a cake with apples in it, which was so good that nothing of it was left after a quarter hour. "
    "In the evening we listened to music, wrote a few letters to friends far away, and went to sleep much too late. "
    "I tell you all this because you were so kind on the telephone, and because I have nobody else to tell it to now. "
    "Now for what I really wanted to know, and then I leave you in peace for the rest of this fine day, I promise. "
)


@pytest.mark.parametrize(("setting", "finds"), [({}, True), ({"long_query": "cut"}, False)], ids=["split", "cut"])
async def test_a_long_question_finds_what_its_last_sentence_asks_for(setting, finds, sandbox):
    """Dify refuses more than 250 characters."""
    async with Pool() as pool:
        for question in SAMPLE_QUESTIONS[:5]:
            query = f"{STORY}{question.text}"
            assert len(query) > 900
            response = await retrieve(
                RetrievalContext(
                    query=query, creation_settings=sandbox["dify"], retrieval_settings={"top_k": 1, **setting}
                ),
                pool,
            )
            document, _, _ = question.passage.partition("#")
            assert (response.results[0].metadata["document_name"] == document) is finds, question.text


@pytest.mark.parametrize("tag", [tag for tag in BACKENDS if BACKENDS[tag].lists])
async def test_what_is_chosen_from_the_list_can_be_searched(tag, sandbox):
    typed = {name: value for name, value in sandbox[tag].items() if name != "dataset_id"}
    question = SAMPLE_QUESTIONS[0]
    async with Pool() as pool:
        found, _ = await list_datasets(typed, {}, pool)
        [handbook] = [one for one in found if one.name.lower() == "handbook"]
        context = RetrievalContext(
            query=question.text,
            creation_settings={**typed, "dataset_id": handbook.id},
            retrieval_settings={"top_k": 1},
        )
        response = await retrieve(context, pool)
    assert len(found) > 1
    assert (handbook.searchable, handbook.note) == (True, "")
    assert handbook.id == sandbox[tag]["dataset_id"]
    assert question.passage.startswith(response.results[0].metadata["document_name"])


@pytest.mark.parametrize(
    ("tag", "name", "note", "searchable"),
    [
        ("dify", "handbook-economy", "economy: searched by keyword only", True),
        ("dify", "empty", "empty: nothing can be found yet", True),
        ("dify", "external", "external: Dify's API can't search it; connect the server behind it instead", False),
        ("dify", "api-off", "its API access is off in Dify", False),
        ("dify", "no-model", "its embedding model is missing: searched by full text only", True),
        ("ragflow", "empty", "empty: nothing is parsed yet", True),
        ("weknora", "empty", "empty: nothing is indexed yet", True),
        ("weknora", "words", "no vectors: searched by full text only", True),
        ("weknora", "wiki", "neither vectors nor an index of words: nothing can be found", False),
    ],
)
async def test_what_finds_little_or_nothing_is_marked(tag, name, note, searchable, sandbox):
    async with Pool() as pool:
        found, _ = await list_datasets(sandbox[tag], {}, pool)
    [marked] = [one for one in found if one.name == name]
    assert (marked.note, marked.searchable) == (note, searchable)
    words = json.loads((PARTS / "words.json").read_text("utf-8"))
    assert all(note in said for said in words.values()), "the page says it in three languages"


async def test_ragflows_embedding_models_stand_apart(sandbox):
    async with Pool() as pool:
        found, _ = await list_datasets(sandbox["ragflow"], {}, pool)
    [other] = [one for one in found if one.name == "handbook-other-model"]
    assert [one.name for one in found if one.group == other.group] == ["handbook-other-model"]

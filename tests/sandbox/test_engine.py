"""The point of it all: the same question, the same settings, the same best passage from every service."""

import re

import pytest
from langbot_plugin.api.entities.builtin.rag import RetrievalContext

from adapters import BACKENDS, Pool, retrieve
from sandbox.questions import SAMPLE_QUESTIONS
from sandbox.server import running

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

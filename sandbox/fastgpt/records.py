"""FastGPT's items."""

from typing import Any

from sandbox.corpus import Document, Form
from sandbox.fastgpt.datasets import Dataset
from sandbox.fastgpt.search import Found
from sandbox.ids import hex24_of

# The picture's address is relative to the server, as FastGPT stores those of imported files.
_PICTURES = {"lamp-care.md#2": "\n\n![An E27 socket](/api/file/e27-socket.png)"}


def item(dataset: Dataset, found: Found) -> dict[str, Any]:
    """Return one entry of `list`; only a pair of question and answer has `a`."""
    passage = found.passage
    return {
        "q": passage.text + _PICTURES.get(passage.key, ""),
        **({} if passage.answer is None else {"a": passage.answer}),
        "id": hex24_of("fastgpt", dataset.name, passage.key),
        "datasetId": dataset.id,
        "collectionId": hex24_of("fastgpt", dataset.name, passage.document.name),
        "updateTime": "2026-12-01T00:08:46.358Z",
        "sourceName": passage.document.name,
        "sourceId": _source(passage.document),
        "chunkIndex": passage.position - 1,
        "score": [{"type": kind, "value": score.value, "index": score.index} for kind, score in found.scores.items()],
    }


def _source(document: Document) -> str:
    """Return the page that was read, or the id of a file that was uploaded."""
    if document.form is Form.QUESTION_ANSWER:
        return hex24_of("fastgpt", "file", document.name)
    return document.link

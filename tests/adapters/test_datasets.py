"""What each service says of the datasets that a key may read."""

import pytest

from adapters import list_datasets
from adapters.fastgpt import FOLDER_DEPTH, FOLDERS
from tests.contract.cases import KEY
from tests.contract.stand_in import recording
from tests.service import reply


async def choose(backend, service, pool):
    creation = {"backend": backend, "api_base_url": service.base, "api_key": KEY}
    return await list_datasets(creation, {}, pool)


async def dify(service, pool, *records):
    service.answers = [reply(body={"data": [*records], "total": len(records), "has_more": True})]
    found, notes = await choose("dify", service, pool)
    assert notes == []
    assert [request.path for request in service.requests] == ["/v1/datasets?page=1&limit=100"]
    return found


def details(kind, version="v1.14.2", **changes):
    return recording("dify", f"{version}__get-dataset-{kind}")["response"] | changes


@pytest.mark.parametrize(
    ("record", "line", "note", "searchable"),
    [
        (details("vectors"), "high_quality, text_model, 3 documents, stub-embedding", "", True),
        (details("economy"), "economy, text_model, 3 documents", "economy: searched by keyword only", True),
        (details("empty"), "0 documents", "empty: nothing can be found yet", True),
        (
            details("external"),
            "0 documents",
            "external: Dify's API can't search it; connect the server behind it",
            False,
        ),
        (details("external", "v1.9.2"), "0 documents", "external: ", False),
        (details("vectors", enable_api=False), "", "its API access is off in Dify", False),
        (details("vectors", embedding_available=False), "", "its embedding model is missing", True),
        (details("vectors", name=None, doc_form=5, embedding_model=[]), "high_quality, 3 documents", "", True),
    ],
)
async def test_dify_says_what_can_be_searched_and_how(record, line, note, searchable, service, pool):
    [found] = await dify(service, pool, record)
    assert (found.id, found.name) == (record["id"], record["name"] or "")
    assert found.line.startswith(line)
    assert found.note.startswith(note)
    assert bool(found.note) is bool(note)
    assert (found.searchable, found.group) == (searchable, "")


async def test_ragflow_groups_by_embedding_model(service, pool):
    service.answers = [reply(body=recording("ragflow", "datasets_page_size_100")["response"])]
    found, _ = await choose("ragflow", service, pool)
    assert [request.path for request in service.requests] == ["/api/v1/datasets?page=1&page_size=100"]
    by_name = {one.name: one for one in found}
    handbook, faq, other = (by_name[name] for name in ("Product handbook", "Customer FAQ", "Other model"))
    assert handbook.line == "7 chunks, embed-small@stub@OpenAI-API-Compatible"
    assert handbook.group == faq.group != other.group
    assert (handbook.note, other.note) == ("", "empty: nothing is parsed yet")


async def test_ragflow_keeps_datasets_without_a_model_apart(service, pool):
    answer = recording("ragflow", "datasets_list")["response"]
    answer["data"][0]["embedding_model"] = ""
    answer["total_datasets"] = 2
    service.answers = [reply(body=answer)]
    found, _ = await choose("ragflow", service, pool)
    assert len({one.group for one in found}) == 2
    assert all(one.group for one in found)


def row(ident, kind="dataset", **rest):
    return {"_id": ident, "name": f"name of {ident}", "type": kind, "vectorModel": {"name": "emb"}, **rest}


def team(tree):
    """FastGPT with these rows in each folder; None is the top."""

    async def answer(request, writer):
        rows = tree(request.json["parentId"])
        await reply(body={"code": 200, "statusText": "", "message": "", "data": rows})(request, writer)

    return answer


async def test_fastgpts_folders_are_walked_and_not_offered(service, pool):
    tree = {
        None: [row("a"), row("f1", "folder"), row("web", "websiteDataset")],
        "f1": [row("b"), row("f2", "folder"), row("f1", "folder"), row("a")],
        "f2": [row("c", permission={"hasReadPer": False})],
    }
    service.answers = [team(tree.get)]
    found, notes = await choose("fastgpt", service, pool)
    assert [(one.id, one.line) for one in found] == [
        ("a", "dataset, emb"),
        ("web", "websiteDataset, emb"),
        ("b", "dataset, emb, in name of f1"),
        ("c", "dataset, emb, in name of f1 / name of f2"),
    ]
    assert [one.id for one in found if not one.searchable] == ["c"]
    assert [request.json for request in service.requests] == [{"parentId": name} for name in tree]
    assert notes == []


async def test_folders_without_end_are_left_closed_with_a_note(service, pool):
    service.answers = [team(lambda parent: [row(f"{parent}d"), row(f"{parent}f", "folder")])]
    found, notes = await choose("fastgpt", service, pool)
    assert len(found) == len(service.requests) == FOLDER_DEPTH + 1
    assert notes[0].startswith("1 folder not opened: too deep or too many")


async def test_too_many_folders_are_left_closed_with_a_note(service, pool):
    top = [row(f"f{number}", "folder") for number in range(FOLDERS + 20)]
    service.answers = [team(lambda parent: [row(f"in {parent}")] if parent else top)]
    found, notes = await choose("fastgpt", service, pool)
    assert len(found) == FOLDERS
    assert len(service.requests) == FOLDERS + 1
    assert notes[0].startswith("20 folders")


async def test_anything_llms_list_tells_how_a_workspace_ranks(service, pool):
    service.answers = [reply(body=recording("anything_llm", "workspaces")["response"])]
    found, _ = await choose("anything_llm", service, pool)
    assert [request.path for request in service.requests] == ["/api/v1/workspaces"]
    assert [(one.id, one.name, one.line, one.note) for one in found] == [
        ("support", "Support", "ranked by similarity", ""),
        ("empty", "Empty", "ranked by similarity", ""),
        ("2b29b477-9125-4e42-8ca2-ed87827f565b", "知识库", "ranked by similarity", ""),
        ("support-rerank", "Support Rerank", "reranked", ""),
    ]


async def test_weknora_says_what_can_be_searched_and_how(service, pool):
    service.answers = [reply(body=recording("weknora", "source__26_base_list")["response"])]
    found, _ = await choose("weknora", service, pool)
    assert [request.path for request in service.requests] == ["/api/v1/knowledge-bases"]
    assert [(one.name, one.line, one.note, one.searchable) for one in found] == [
        ("Shop rules", "document, 1 document, 3 chunks", "", True),
        ("Questions and answers", "faq, 1 document, 3 chunks", "", True),
        ("New", "document, 0 documents, 0 chunks", "empty: nothing is indexed yet", True),
        ("Words alone", "document, 1 document, 3 chunks", "no vectors: searched by full text only", True),
        (
            "Wiki",
            "document, 1 document, 3 chunks",
            "neither vectors nor an index of words: nothing can be found",
            False,
        ),
    ]


@pytest.mark.parametrize(("backend", "name"), [("anything_llm", "workspaces"), ("weknora", "data")])
async def test_a_key_that_may_read_nothing_lists_nothing(backend, name, service, pool):
    service.answers = [reply(body={"success": True, name: [] if backend == "anything_llm" else None})]
    assert await choose(backend, service, pool) == ([], [])

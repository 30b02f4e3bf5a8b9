import pytest

from adapters import BACKENDS, load_backend
from bridge.errors import SettingsError
from bridge.settings import address

ID = "11111111-2222-3333-4444-555555555555"
CREATION = {"backend": "dify", "api_base_url": "http://dify.test/v1", "api_key": "dataset-1", "dataset_id": ID}


def load(retrieval=None, **creation):
    return load_backend({**CREATION, **creation}, retrieval or {})


@pytest.mark.parametrize(
    ("pasted", "meant"),
    [
        (" http://dify.test/v1/ ", "http://dify.test"),
        ("http://dify.test", "http://dify.test"),
        ("http://dify.test//v1//", "http://dify.test"),
        ("HTTPS://Dify.Test/v1", "https://dify.test"),
        ("https://api.dify.ai/v1/datasets", "https://api.dify.ai"),
        (f"http://h.test/v1/datasets/{ID}/retrieve", "http://h.test"),
        (f"http://h.test/datasets/{ID}/documents?page=1#x", "http://h.test"),
        ("http://h.test/console/api", "http://h.test"),
        ("http://h.test/api", "http://h.test"),
        ("http://proxy.test/dify/v1", "http://proxy.test/dify"),
        ("http://proxy.test/dify/api/v1", "http://proxy.test/dify/api"),
        ("http://proxy.test/datasets/dify", "http://proxy.test/datasets/dify"),
        (f"http://proxy.test/dify/datasets/{ID}/hitTesting", "http://proxy.test/dify"),
        ("http://proxy.test/dify/v1/.", "http://proxy.test/dify/v1"),
        (f"https://cloud.dify.ai/datasets/{ID}/documents", "https://api.dify.ai"),
        ('"http://h.test:8080/v1"', "http://h.test:8080"),
        ("h.test", "https://h.test"),
        ("h.test:443/v1", "https://h.test:443"),
        ("h.test:5001", "http://h.test:5001"),
        ("192.168.1.5/v1", "http://192.168.1.5"),
        ("localhost", "http://localhost"),
        ("http://[::1]:5001/v1", "http://[::1]:5001"),
    ],
)
def test_addresses_as_people_paste_them(pasted, meant):
    assert load(api_base_url=pasted).api_base_url == meant


@pytest.mark.parametrize(
    "wrong", ["http://", "ws://h.test", "http://a b", "http://u:p@h.test", "http://h:notaport", "::"]
)
def test_an_address_that_cant_be_mended(wrong):
    with pytest.raises(SettingsError, match="api_base_url"):
        load(api_base_url=wrong)


def test_a_page_keeps_nothing_of_its_query():
    made = load(api_base_url=f"http://h.test/datasets/{ID}/documents?code=s3cret")
    assert (made.api_base_url, made.own_query.get_secret_value()) == ("http://h.test", "")


def test_a_tail_is_cut_once():
    assert address("http://h.test/api/v1/api", "/(api/v1|api)$") == "http://h.test/api/v1"


@pytest.mark.parametrize(
    "pasted",
    ["dataset-1", " Bearer dataset-1\n", "bearer  dataset-1", "Authorization: Bearer dataset-1", "'dataset-1'"],
)
def test_keys_as_people_paste_them(pasted):
    assert load(api_key=pasted).api_key.get_secret_value() == "dataset-1"


def test_a_key_is_in_no_repr():
    backend = load(api_key="dataset-hidden")
    assert "hidden" not in repr(backend) + str(backend) + str(backend.model_dump())


OTHER = "99999999-2222-3333-4444-55555555abcd"


@pytest.mark.parametrize(
    ("pasted", "ids"),
    [
        (ID, (ID,)),
        (f" {ID} , {OTHER}", (ID, OTHER)),
        (f"{ID}，{OTHER}\n{ID}", (ID, OTHER)),
        ([ID, OTHER], (ID, OTHER)),
        (f"https://cloud.dify.ai/datasets/{ID}/documents", (ID,)),
    ],
)
def test_dataset_ids_as_people_paste_them(pasted, ids):
    assert load(dataset_id=pasted).dataset_id == ids


@pytest.mark.parametrize("wrong", ["", " , ", None, "handbook", "aaaa0000bbbb1111cccc2222dddd3333", [], 7])
def test_a_dataset_id_that_cant_be_mended(wrong):
    with pytest.raises(SettingsError, match="dataset_id"):
        load(dataset_id=wrong)


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("top_k", "7", 7),
        ("top_k", 2.5, 2),
        ("top_k", 0, 5),
        ("top_k", "0", 5),
        ("top_k", 0.3, 1),
        ("top_k", -3, 1),
        ("top_k", 1000, 100),
        ("top_k", None, 5),
        ("top_k", " ", 5),
        ("score_threshold", "0.35", 0.35),
        ("score_threshold", None, 0),
        ("rerank", "true", True),
        ("rerank", "0", False),
        ("rerank", None, False),
        ("search_mode", " hybrid ", "hybrid"),
        ("search_mode", "", "auto"),
        ("vector_weight", "", None),
        ("vector_weight", "0.4", 0.4),
        ("timeout", "20", 20),
        ("timeout", 0, 12),
        ("unknown_of_a_later_version", 1, None),
    ],
)
def test_values_as_forms_and_people_send_them(name, given, meant):
    assert getattr(load({name: given}).options, name, None) == meant


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("top_k", "many"),
        ("top_k", float("nan")),
        ("top_k", [5]),
        ("score_threshold", 70),
        ("score_threshold", -0.1),
        ("score_threshold", "high"),
        ("rerank", "perhaps"),
        ("search_mode", "magic"),
        ("vector_weight", 1.5),
        ("vector_weight", "inf"),
        ("timeout", 500),
        ("timeout", 0.5),
    ],
)
def test_a_value_that_cant_be_used_is_named_without_being_shown(name, given):
    with pytest.raises(SettingsError, match=name) as failed:
        load({name: given})
    assert str(failed.value).startswith("Dify settings: ")
    if name != "search_mode":
        assert str(given) not in str(failed.value).replace("0 ", "").replace("100", "").replace("110", "")


@pytest.mark.parametrize(
    ("retrieval", "told"),
    [
        ({"expand_query": True}, "expand_query is not available"),
        ({"use_knowledge_graph": "true"}, "use_knowledge_graph is not available"),
        ({"cross_languages": "English"}, "cross_languages is not available"),
        ({"candidates": 64}, "candidates is not available"),
        ({"token_limit": 100}, "token_limit is not available"),
        ({"search_mode": "semantic", "vector_weight": 0.5}, "vector_weight works with search_mode hybrid"),
    ],
)
def test_what_a_service_cant_do_is_refused_by_name(retrieval, told):
    with pytest.raises(SettingsError, match=told):
        load(retrieval)


def test_defaults_of_what_a_service_lacks_are_no_wish():
    load(
        {"expand_query": False, "candidates": 1024, "token_limit": 0, "cross_languages": "", "use_knowledge_graph": "0"}
    )


def test_retrieval_settings_never_reach_address_or_key():
    backend = load({"api_base_url": "http://evil.test", "api_key": "other", "backend": "x", "dataset_id": OTHER})
    assert backend.api_base_url == "http://dify.test"
    assert backend.api_key.get_secret_value() == "dataset-1"
    assert backend.dataset_id == (ID,)


@pytest.mark.parametrize("tag", ["", None, "diffy", 7])
def test_an_unknown_backend_lists_those_there_are(tag):
    with pytest.raises(SettingsError, match=r"backend.*dify"):
        load(backend=tag)


def test_a_backends_word_is_read_kindly():
    assert load(backend=" Dify ").backend == "dify"


def test_every_problem_is_told_at_once():
    with pytest.raises(SettingsError) as failed:
        load_backend({"backend": "dify", "verify_tls": "x"}, {"top_k": "x"})
    assert all(name in str(failed.value) for name in ("api_base_url is missing", "api_key is missing"))


def test_tags_are_words():
    assert all(backend.model_fields["backend"].default == tag for tag, backend in BACKENDS.items())

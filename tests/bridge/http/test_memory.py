from bridge.http import memory


def test_the_oldest_answer_makes_room(monkeypatch):
    monkeypatch.setattr(memory, "KEPT_ANSWERS", 2)
    kept = memory.Memory(lambda: 0.0)
    names = [("", b"digest", path, "") for path in "abc"]
    for name in names:
        kept.keep(name, name[2])
    assert kept.get(names[0]) is None
    assert kept.get(names[2]) == ("c", 0.0)


def test_answers_grow_old_until_they_are_kept_anew():
    now = [100.0]
    kept = memory.Memory(lambda: now[0])
    name = ("", b"digest", "/a", "")
    kept.keep(name, 1)
    now[0] += 30
    assert kept.get(name) == (1, 30.0)
    kept.keep(name, 2)
    assert kept.get(name) == (2, 0.0)


def test_answers_go_alone_or_with_their_tenant():
    kept = memory.Memory(lambda: 0.0)
    names = [(tenant, b"digest", path, "") for tenant in "xy" for path in "ab"]
    for name in names:
        kept.keep(name, 1)
    kept.drop(names[0])
    kept.drop(names[0])
    assert [kept.get(name) is None for name in names] == [True, False, False, False]
    kept.forget("x")
    assert [kept.get(name) is None for name in names] == [True, True, False, False]

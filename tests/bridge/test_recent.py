from bridge.recent import Recent


def test_what_was_put_in_first_makes_room():
    kept: Recent[tuple[str, str], int] = Recent(2)
    kept.put(("t", "a"), 1)
    kept.put(("t", "b"), 2)
    kept.put(("t", "a"), 3)
    kept.put(("t", "c"), 4)
    assert kept == {("t", "a"): 3, ("t", "c"): 4}


def test_an_installation_goes_alone():
    kept: Recent[tuple[str, str], int] = Recent(9)
    for tenant in "xy":
        kept.put((tenant, "a"), 1)
    kept.forget("x")
    assert set(kept) == {("y", "a")}

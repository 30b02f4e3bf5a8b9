import pytest

from bridge.links import absolute, hosted

BASE = "http://kb.test:3000"
OWN = ("/files/", "/api/")


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("see ![a](/files/1?sign=a%3D) end", "see ![a](http://kb.test:3000/files/1?sign=a%3D) end"),
        ('![](/files/1 "a title")', '![](http://kb.test:3000/files/1 "a title")'),
        ("![a](</files/a b.png>)", "![a](<http://kb.test:3000/files/a b.png>)"),
        ("![a]( /pictures/1.png)", "![a]( http://kb.test:3000/pictures/1.png)"),
        ("[the file](/files/1)", "[the file](http://kb.test:3000/files/1)"),
        ("[![a](/files/1)](/files/2)", "[![a](http://kb.test:3000/files/1)](http://kb.test:3000/files/2)"),
        ('<td><img src="/api/1.png" alt="x"/>', '<td><img src="http://kb.test:3000/api/1.png" alt="x"/>'),
        ("<img alt='x'\n src='/1.png'>", "<img alt='x'\n src='http://kb.test:3000/1.png'>"),
        ("<IMG SRC=/api/1.png>", "<IMG SRC=http://kb.test:3000/api/1.png>"),
        ('<a class="x" href = "/api/1">', '<a class="x" href = "http://kb.test:3000/api/1">'),
        ('<a href="/files/1"><img src="/2"></a>', f'<a href="{BASE}/files/1"><img src="{BASE}/2"></a>'),
    ],
)
def test_the_services_links_get_its_host(given, made):
    assert absolute(given, BASE, OWN) == made
    assert absolute(made, BASE, OWN) == made


@pytest.mark.parametrize(
    "text",
    [
        "call /files/1 or POST /api/core",
        "![](https://x.test/files/a.png) ![b](//x.test/files/b.png) ![](data:image/png;base64,AA/files/AA)",
        "[setup](/docs/setup) [up](../files/1) [here](#files) [mail](mailto:a@b.test)",
        '<a href="/docs/setup"> <a name="/files/1"> <abbr href="/files/1"> <img src="//x.test/1">',
        '<img data-src="/files/1"> src="/files/1" a < b href="/files/1"',
        "f(x)[0](y) [note]: /files/1",
    ],
)
def test_other_texts_stay_as_they_are(text):
    assert absolute(text, BASE, OWN) == text


@pytest.mark.parametrize(
    ("link", "made"),
    [
        ("/api/1", "http://h.test/kb/api/1"),
        ("/kb/api/1", "http://h.test/kb/api/1"),
        ("/kbs/1", "http://h.test/kb/kbs/1"),
        ("//x.test/1", "//x.test/1"),
        ("https://x.test/1", "https://x.test/1"),
        ("", ""),
    ],
)
def test_the_addresses_own_path_is_said_once(link, made):
    assert hosted(link, "http://h.test/kb") == made
    assert absolute(f"![a]({link})", "http://h.test/kb", ()) == f"![a]({made})"


def test_a_path_of_the_service_counts_behind_the_addresses_own():
    assert absolute("[a](/kb/api/1)", "http://h.test/kb", OWN) == "[a](http://h.test/kb/api/1)"
    assert absolute("[a](/kb/docs)", "http://h.test/kb", OWN) == "[a](/kb/docs)"

from __future__ import annotations

import pytest

from pipeline.core.resources import bundled
from pipeline.server.script_bundler import JoinError, entries, join

SOURCES = {
    "page": 'import { add, N as most } from "./sum.js";\nimport { twice } from "./double.js";\n'
    "const KEY = 3;\nconsole.log(add(twice(KEY), most));\n",
    "sum": "const KEY = 1;\nexport const N = 10 * KEY;\nexport function add(a, b) {\n"
    "  return a + b;\n}\n",
    "double": 'import {\n  add,\n} from "./sum.js";\n\n'
    "export class Twice {\n  static of = (a) => add(a, a);\n}\n"
    "export const twice = (a) => Twice.of(a);\n",
}


def test_a_module_comes_once_and_before_those_that_import_it() -> None:
    joined = join("page", SOURCES)
    assert joined.count("const $sum = ") == joined.count("const $double = ") == 1
    assert joined.index("const $sum") < joined.index("const $double") < joined.index("console.log")
    assert "const { add, N: most } = $sum;" in joined
    assert "return { Twice, twice };" in joined
    assert "import {" not in joined
    assert "export " not in joined


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('import { a } from "./b.js";', "page imports b imports page"),
        ('import { a } from "./gone.js";', "gone.js: no such file"),
        ('import a from "./b.js";', "import a from"),
        ('import * as a from "./b.js";', "import \\* as"),
        ('import "./b.js";', "import"),
        ("export default 3;", "export default"),
        ("export { a };", "export \\{ a"),
        ("export let a = 3;", "export let"),
    ],
)
def test_what_is_not_understood_is_refused(source: str, words: str) -> None:
    sources = {"page": source, "b": 'import { c } from "./page.js";\nexport const a = 1;\n'}
    with pytest.raises(JoinError, match=words):
        join("page", sources)


def test_a_dynamic_import_stays() -> None:
    source = 'const late = () =>\n  import("./sum.js");\nlate();\n'
    assert join("page", {"page": source}) == source


def test_a_page_names_its_scripts() -> None:
    html = '<script async src="/js/a.js"></script><script type="module" src="/js/b_c.js" defer>'
    assert entries(html) == ["b_c"]


def test_every_shipped_page_can_be_joined() -> None:
    folder = bundled("displays")
    sources = {file.stem: file.read_text("utf-8") for file in (folder / "js").glob("*.js")}
    pages = {file.stem: file.read_text("utf-8") for file in folder.glob("*.html")}
    for page, html in pages.items():
        assert entries(html), page
        for name in entries(html):
            assert join(name, sources)

from __future__ import annotations

import posixpath
import re

import pytest

from pipeline.core.resources import bundled
from pipeline.server.pages import JoinError, entries, join, languages_script

SOURCES = {
    "page": 'import { add, N as most } from "./sum.js";\nimport { twice } from "./double.js";\n'
    "const KEY = 3;\nconsole.log(add(twice(KEY), most));\n",
    "sum": "const KEY = 1;\nexport const N = 10 * KEY;\nexport function add(a, b) {\n"
    "  return a + b;\n}\n",
    "double": 'import {\n  add,\n} from "./sum.js";\n\n'
    "export class Twice {\n  static of = (a) => add(a, a);\n}\n"
    "export const twice = (a) => Twice.of(a);\n",
}

PAGES = (
    *("audience", "demo", "projector", "overlay", "operator"),
    *("review", "join", "services", "dashboard"),
)


def shipped() -> dict[str, str]:
    """Return the text of all modules of the pages by name, with the one the server generates."""
    folder = bundled("displays") / "js"
    made = {"shared/languages": languages_script().decode()}
    return made | {
        file.relative_to(folder).with_suffix("").as_posix(): file.read_text("utf-8")
        for file in folder.rglob("*.js")
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


def test_modules_of_one_name_in_two_folders_are_two() -> None:
    sources = {
        "page/main": 'import { list } from "./list.js";\nimport { list as shared } from '
        '"../shared/list.js";\nconsole.log(list, shared);\n',
        "page/list": 'import { list as other } from "../shared/list.js";\n'
        "export const list = [other];\n",
        "shared/list": "export const list = 1;\n",
    }
    joined = join("page/main", sources)
    assert joined.count("const $shared$list = ") == joined.count("const $page$list = ") == 1
    assert joined.index("const $shared$list") < joined.index("const $page$list")
    assert "const { list: other } = $shared$list;" in joined
    assert "const { list: shared } = $shared$list;" in joined


def test_a_module_outside_the_folder_is_none() -> None:
    with pytest.raises(JoinError, match=r"a/page imports \.\./secret\.js: no such file"):
        join("a/page", {"a/page": 'import { a } from "../../secret.js";\n'})


def test_a_dynamic_import_stays() -> None:
    source = 'const late = () =>\n  import("./sum.js");\nlate();\n'
    assert join("page", {"page": source}) == source
    assert join("page/main", {"page/main": source}) == source


def test_a_dynamic_import_of_a_module_elsewhere_is_told_from_where_the_page_is() -> None:
    sources = {
        "page/main": 'import { late } from "../shared/late.js";\nlate();\n',
        "shared/late": 'export const late = () => [import("./sum.js"), import("../page/more.js")];',
    }
    joined = join("page/main", sources)
    assert '[import("../shared/sum.js"), import("./more.js")]' in joined


def test_a_page_names_its_scripts() -> None:
    html = '<script async src="/js/a.js"></script><script type="module" src="/js/b_c/d.js" defer>'
    assert entries(html) == ["b_c/d"]


def test_every_shipped_page_can_be_joined() -> None:
    folder = bundled("displays")
    sources = shipped()
    pages = {file.stem: file.read_text("utf-8") for file in folder.glob("*.html")}
    for page, html in pages.items():
        # Two pages have no script.
        assert bool(entries(html)) == (page not in ("certificate", "missing")), page
        for name in entries(html):
            assert join(name, sources)


def test_pages_import_what_is_shared_and_nothing_of_each_other() -> None:
    """Folders as in docs/ARCHITECTURE.md: words, shared, render, then one for each page."""
    sources = shipped()
    found = set()
    for name, text in sources.items():
        for path in re.findall(r'(?:from |import\()"(\.[^"]+)\.js"', text):
            other = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            assert other in sources, f"{name} imports {other}"
            found.add((name.split("/")[0], other.split("/")[0]))
    upward = {(page, folder) for page in PAGES for folder in ("shared", "render", page)}
    below = {("shared", "words"), ("shared", "shared"), ("render", "shared"), ("render", "render")}
    assert found <= {*below, *upward}
    assert {name.split("/")[0] for name in sources} == {"words", "shared", "render", *PAGES}

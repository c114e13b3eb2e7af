from __future__ import annotations

import pytest

from pipeline.core.errors import ConfigError
from pipeline.core.extras import require_extra


def test_the_folder_of_an_installed_package_is_found() -> None:
    assert (require_extra("numpy", "any", "any.key") / "__init__.py").is_file()


def test_a_missing_package_is_told_with_the_extra_that_brings_it() -> None:
    with pytest.raises(ConfigError) as caught:
        require_extra("no_such_package", "moonshine", 'stt.engine = "moonshine"')
    assert str(caught.value) == (
        'stt.engine = "moonshine" needs the package no_such_package, which is not installed. '
        "Install it beside the program: pip install 'stark-translate[moonshine]'. [extra-missing]"
    )

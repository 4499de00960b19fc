"""Every package says what comes in, what goes out, and what always holds."""

import ast

import pytest

from tests.architecture.sources import PACKAGE, modules, within

PACKAGES = sorted(
    ".".join(("explorer", *path.parent.relative_to(PACKAGE).parts)) for path in PACKAGE.rglob("*/__init__.py")
)
# Parts of a package whose theory is in the package above.
WITHOUT = {"explorer.demo.stories", "explorer.views.act.intents"}
NO_PROTOCOL = {"explorer.core.protocol.arrow"}


@pytest.mark.parametrize("package", [name for name in PACKAGES if name not in WITHOUT])
def test_package_says_what_comes_in_what_goes_out_and_what_always_holds(package: str) -> None:
    text = ast.get_docstring(modules()[package]) or ""
    words = ["\nIn: ", "\nOut: ", "\nAlways: "]
    if within(package, "explorer.core") and package not in NO_PROTOCOL:
        words.append("\nProtocol")
    places = [text.find(word) for word in words]
    assert -1 not in places, f"{package} lacks {[word.strip() for word in words if word not in text]}"
    assert places == sorted(places)
    assert text.partition("\n\n")[0].endswith(".")

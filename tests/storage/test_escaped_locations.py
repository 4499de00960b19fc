"""Folders whose names hold what URLs escape: a location of the log means one object, by whatever way it is reached."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.core.errors import NotAllowed
from explorer.core.protocol.file_locations import FileLocations
from explorer.core.protocol.file_paths import decode_path, encode_path
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.guards.files import place_guards
from explorer.core.versions.delta_log import DeltaLog
from explorer.spark.scan.object_files import remote_file
from explorer.storage.locate import open_store
from explorer.storage.memory import memory
from explorer.storage.roots import AllowedRoots
from explorer.storage.schemes import scheme_of
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write

FOLDERS = ["plain", "a b", "a%20b", "100%", "é", "what?", "#1", "a%2520b"]


@pytest.fixture(params=["s3", "memory"])
def place(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any], Any]:
    """A bucket's URL, its options, and its store as obstore has it."""
    from obstore.store import S3Store

    if request.param == "memory":
        return "memory://places", {}, memory("places")
    options = request.getfixturevalue("s3")
    config = {key: value for key, value in options.items() if key != "allow_http"}
    return "s3://warehouse", options, S3Store("warehouse", config=config, client_options={"allow_http": True})


def raw_names(raw: Any, prefix: str) -> list[str]:
    import obstore

    return [item["path"] for item in obstore.list(raw, prefix).collect()]


def content(store: LogStore, location: str) -> bytes:
    holder, key = store.elsewhere(location)
    return holder.read(key)


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_absolute_path_of_the_log_is_the_object_of_that_name(folder: str, place: tuple[str, Any, Any]) -> None:
    import obstore

    url, options, raw = place
    obstore.put(raw, f"{folder}/f", folder.encode())
    assert f"{folder}/f" in raw_names(raw, f"{folder}/")
    written = f"{url}/{encode_path(folder)}/f"
    assert content(open_store(f"{url}/elsewhere", options), decode_path(written)) == folder.encode()
    assert open_store(f"{url}/{encode_path(folder)}", options).read("f") == folder.encode()


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_rows_of_a_table_come_from_its_own_folder(folder: str, place: tuple[str, Any, Any]) -> None:
    import obstore

    url, options, raw = place
    location = f"{url}/{encode_path(folder)}/t"
    obstore.put(raw, f"{folder}/t/p=x%2F y/f", b"inside")
    obstore.put(raw, f"{folder}/beside/f", b"beside")
    store = open_store(location, options)
    absolute = f"{url}/{encode_path(folder)}/beside/f"
    if not raw_names(raw, f"{folder}/t/_delta_log"):
        write(store, {0: (PROTOCOL, METADATA, add("p=x%252F%20y/f"), add(absolute))})
    log = DeltaLog(open_store(location, options))
    paths = log.snapshot().files(["path"]).column("path").to_pylist()
    assert paths == ["p=x%2F y/f", decode_path(absolute)]
    places = FileLocations(store)
    files = [remote_file(*places.place_of(path), None, scheme_of(location)) for path in paths]
    assert [bytes(obstore.get(file.store, file.key).bytes()) for file in files] == [b"inside", b"beside"]


def test_a_table_around_a_new_one_is_found_by_its_escaped_name(place: tuple[str, Any, Any]) -> None:
    url, options, _ = place
    outer = open_store(f"{url}/out%2520er", options)
    write(outer, {0: (PROTOCOL, METADATA)})
    found = {guard.name: guard.status for guard in place_guards(open_store(f"{url}/out%2520er/in", options))}
    assert found["outside-other-tables"] == "fail"
    beside = {guard.name: guard.status for guard in place_guards(open_store(f"{url}/out%20er/in", options))}
    assert beside["outside-other-tables"] == "pass"


@pytest.mark.parametrize(
    ("location", "allowed"),
    [
        ("memory://places/ser%2520ved/t", True),
        ("memory://places/ser%2520ved", True),
        ("memory://places/ser%2520vedx/t", False),
        ("memory://places/ser%20ved/t", False),
        ("memory://places/ser%2520ved/%2e%2e/t", False),
        ("memory://places/ser%2520ved/../t", False),
    ],
)
def test_a_location_is_held_to_the_roots_by_what_it_means(location: str, allowed: bool) -> None:
    roots = AllowedRoots(["memory://places/ser%2520ved/"])
    assert roots.allow(location) is allowed
    if not allowed:
        with pytest.raises(NotAllowed, match="outside the folders"):
            open_store(location, roots=roots)


def test_a_location_of_the_log_is_held_to_the_roots_too() -> None:
    import obstore

    obstore.put(memory("places"), "ser%20ved/f", b"in")
    obstore.put(memory("places"), "ser ved/f", b"out")
    store = open_store("memory://places/ser%2520ved/t", roots=AllowedRoots(["memory://places/ser%2520ved"]))
    assert content(store, "memory://places/ser%20ved/f") == b"in"
    with pytest.raises(NotAllowed, match="outside the folders"):
        store.elsewhere("memory://places/ser ved/f")

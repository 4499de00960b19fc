"""Random sequences of intents on properties, protocol and constraints against a plain model of what they mean.

The model holds a dictionary, a set and two numbers, and says of each intent whether it is taken. After each commit the
table, opened anew, is what the model is, and every earlier version still is what it was.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.table_features import supported_features
from tests.support.logs import small_logs

LADDER: Final = {
    (1, 1): set[str](),
    (1, 2): {"appendOnly", "invariants"},
    (1, 3): {"appendOnly", "invariants", "checkConstraints"},
    (1, 4): {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"},
}
SWITCHES: Final = {
    "delta.enableChangeDataFeed": "changeDataFeed",
    "delta.enableDeletionVectors": "deletionVectors",
    "delta.enableTypeWidening": "typeWidening",
    "delta.enableInCommitTimestamps": "inCommitTimestamp",
    "delta.appendOnly": "appendOnly",
}
NEEDS: Final = {"rowTracking": {"domainMetadata"}}
BIND_READERS: Final = {"deletionVectors", "typeWidening", "vacuumProtocolCheck"}
DROPPABLE: Final = {"checkConstraints", "domainMetadata", "inCommitTimestamp"}
WRITTEN_BY_COMMITS: Final = ("delta.inCommitTimestampEnablement", "delta.rowTracking.materialized")


class Model:
    """What a table's settings are, as simply as it can be said."""

    def __init__(self) -> None:
        self.configuration: dict[str, str] = {}
        self.features = set(LADDER[1, 2])
        self.reader, self.writer = 1, 2

    def apply(self, intent: dict[str, Any]) -> bool:
        """Take an intent, or leave everything as it is and return False."""
        before = (dict(self.configuration), set(self.features), self.reader, self.writer)
        fields = {name: value for name, value in intent.items() if name != "kind"}
        taken = bool(getattr(self, intent["kind"].replace("-", "_"))(**fields))
        if taken and before != (self.configuration, self.features, self.reader, self.writer):
            return True
        self.configuration, self.features, self.reader, self.writer = before
        return False

    def set_properties(self, properties: dict[str, str]) -> bool:
        self.configuration |= properties
        self._gain({SWITCHES[key] for key, value in properties.items() if key in SWITCHES and value == "true"})
        return properties.get("delta.checkpointInterval") != "0"

    def unset_properties(self, keys: list[str]) -> bool:
        self.configuration = {key: value for key, value in self.configuration.items() if key not in keys}
        return True

    def upgrade_protocol(self, minReaderVersion: int, minWriterVersion: int) -> bool:  # noqa: N803 - JSON names
        versions = (minReaderVersion, minWriterVersion)
        if minReaderVersion < self.reader or minWriterVersion < self.writer:
            return False
        self.features |= LADDER.get(versions, set())
        self.reader, self.writer = versions
        return versions in LADDER or versions in {(1, 7), (3, 7)}

    def enable_feature(self, feature: str) -> bool:
        self._gain({feature} | NEEDS.get(feature, set()))
        self.configuration |= {key: "true" for key, name in SWITCHES.items() if name == feature}
        if feature == "rowTracking":
            self.configuration["delta.enableRowTracking"] = "true"
        return True

    def drop_feature(self, feature: str) -> bool:
        on = any(self.configuration.get(key) == "true" for key, name in SWITCHES.items() if name == feature)
        used = feature == "checkConstraints" and any(key.startswith("delta.constraints.") for key in self.configuration)
        needed = any(feature in needs and other in self.features for other, needs in NEEDS.items())
        if feature not in self.features & DROPPABLE or on or used or needed:
            return False
        self._becomes(self.features - {feature}, 1, 1)
        return True

    def add_constraint(self, name: str, expression: str) -> bool:
        key = f"delta.constraints.{name.lower()}"
        if key in self.configuration or "nope" in expression:
            return False
        self.configuration[key] = expression
        self._gain({"checkConstraints"})
        return True

    def drop_constraint(self, name: str) -> bool:
        return self.configuration.pop(f"delta.constraints.{name.lower()}", None) is not None

    def _gain(self, features: set[str]) -> None:
        if not features <= self.features:
            self._becomes(self.features | features, self.reader, self.writer)

    def _becomes(self, features: set[str], reader: int, writer: int) -> None:
        legacy = [pair for pair, implied in LADDER.items() if implied == features]
        self.features = features
        if legacy and writer < 7 and legacy[0][1] >= writer:
            self.reader, self.writer = legacy[0]
        else:
            self.reader, self.writer = max(reader, 3 if features & BIND_READERS else 1), 7


VALUES: Final = {
    **dict.fromkeys(SWITCHES, ("true", "false")),
    "team": ("a", "b'; --"),
    "delta.checkpointInterval": ("5", "0", "7"),
}
PROPERTIES: Final = st.one_of([st.tuples(st.just(key), st.sampled_from(values)) for key, values in VALUES.items()])
INTENTS: Final = st.one_of(
    st.lists(PROPERTIES, min_size=1, max_size=2).map(
        lambda pairs: {"kind": "set-properties", "properties": dict(pairs)}
    ),
    st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=2).map(
        lambda keys: {"kind": "unset-properties", "keys": keys}
    ),
    st.sampled_from([(1, 1), (1, 3), (1, 4), (2, 4), (3, 6), (1, 7), (3, 7)]).map(
        lambda pair: {"kind": "upgrade-protocol", "minReaderVersion": pair[0], "minWriterVersion": pair[1]}
    ),
    st.sampled_from(
        ["domainMetadata", "rowTracking", "vacuumProtocolCheck", "deletionVectors", "checkConstraints"]
    ).map(lambda name: {"kind": "enable-feature", "feature": name}),
    st.sampled_from([*sorted(DROPPABLE), "appendOnly", "rowTrackin"]).map(
        lambda name: {"kind": "drop-feature", "feature": name}
    ),
    st.tuples(st.sampled_from(["c", "C", "d"]), st.sampled_from(["id > 0", "id < 9", "nope > 1"])).map(
        lambda pair: {"kind": "add-constraint", "name": pair[0], "expression": pair[1]}
    ),
    st.sampled_from(["c", "C", "d"]).map(lambda name: {"kind": "drop-constraint", "name": name}),
)


def _ask(table: explorer.Table, intent: dict[str, Any]) -> bool:
    """Plan and commit; rows are not looked at, there are none."""
    try:
        plan = table.plan(intent, check_rows=False, user="tester", accept=["existing-rows"])
    except InvalidIntent:
        return False
    if not plan.committable:
        assert table.commit(plan).outcome == "rejected"
        return False
    result = table.commit(plan)
    assert (result.outcome, result.notes) == ("committed", ())
    return True


def _state(snapshot: explorer.Snapshot) -> tuple[dict[str, str], set[str], int, int]:
    kept = {key: value for key, value in snapshot.properties.items() if not key.startswith(WRITTEN_BY_COMMITS)}
    protocol = snapshot.protocol
    return kept, set(supported_features(protocol)), protocol.min_reader_version, protocol.min_writer_version


@settings(max_examples=max(20, settings.default.max_examples // 5))
@given(st.lists(INTENTS, max_size=12))
def test_settings_are_what_the_intents_made_them(intents: list[dict[str, Any]]) -> None:
    store = small_logs.new_store()
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]}, store)
    model = Model()
    expected = [_state(table.snapshot())]
    for intent in intents:
        assert _ask(table, intent) is model.apply(intent), intent
        state = (dict(model.configuration), set(model.features), model.reader, model.writer)
        if table.latest_version() == len(expected):
            expected.append(state)
        assert state == expected[-1]
    fresh = explorer.Table(store)
    assert [_state(fresh.snapshot(version)) for version in range(len(expected))] == expected

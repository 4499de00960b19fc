"""What a table of one version shows in place of a history."""

from explorer.core.protocol.actions import Metadata
from explorer.views.table.overview import opening_facts
from tests.support.logs.small_logs import METADATA, PROTOCOL, table


def test_the_facts_of_the_creation_are_those_of_the_log() -> None:
    metadata = Metadata(
        id=METADATA.id,
        schema_string='{"type":"struct","fields":[{"name":"id","type":"long","nullable":false,"metadata":{}},'
        '{"name":"day","type":"date","nullable":true,"metadata":{}}]}',
        partition_columns=("day",),
        configuration={"delta.logRetentionDuration": "interval 90 days"},
    )
    facts = {
        fact.name: (fact.value, fact.detail) for fact in opening_facts(table({0: [PROTOCOL, metadata]}).snapshot())
    }
    assert facts == {
        "columns": ("2", "1 not null"),
        "protocol": ("1 \u00b7 2", "no table features"),
        "partitioned by": ("day", "no clustering"),
        "retention": ("1 week", "files 1 week, log 90 days"),
        "rows": ("none yet", "0 files"),
    }

"""Names in the catalog of a session that lacks what its tables are made with, as a metastore without Delta's jars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

import explorer
from explorer.core.errors import (
    EngineUnavailable,
    RequestError,
    StorageError,
    TableNotFound,
)
from explorer.spark.engine.catalog_table import catalog_location
from explorer.spark.engine.session import engine
from explorer.spark.row_engine import spark_row_engine
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


class Delta(DataSource):
    """Stands for the jars of Delta in the session that made the tables; its reader is never asked for."""

    @classmethod
    def name(cls) -> str:
        return "delta"

    def schema(self) -> str:
        return "id long"


class Other(Delta):
    @classmethod
    def name(cls) -> str:
        return "lance"


@pytest.fixture(scope="module")
def schema() -> Iterator[str]:
    """A schema of the catalog that all sessions share, whose tables were made in a session with data sources."""
    session, name = engine().session().newSession(), f"shop_{uuid4().hex[:8]}"
    for source in (Delta, Other):
        session.dataSource.register(source)
    session.sql(f"CREATE DATABASE {name}")
    made: Callable[[str, str, str], Any] = lambda table, using, more: session.sql(  # noqa: E731
        f"CREATE TABLE {name}.{table} (id long) USING {using} {more}"
    )
    made("orders", "delta", "OPTIONS (path '/lake/a place%20here') COMMENT 'Orders: all'")
    made("orders_2", "delta", "OPTIONS (path 's3://lake/orders')")
    made("vectors", "lance", "OPTIONS (path '/lake/vectors')")
    made("forged", "delta", "OPTIONS (path '/lake/forged') COMMENT 'a\\nLocation: /etc\\nProvider: delta'")
    session.sql(f"CREATE VIEW {name}.seen AS SELECT 1 AS id")
    yield name
    session.sql(f"DROP DATABASE {name} CASCADE")


@pytest.fixture
def bare(schema: str) -> SparkSession:
    """A session that shares the catalog, and has no data source for its tables."""
    session = engine().session().newSession()
    session.sql(f"USE {schema}")
    return session


def test_the_catalog_says_where_a_table_is_although_its_data_source_is_missing(bare: SparkSession, schema: str) -> None:
    for name in at_least_one(("orders", "ORDERS", f"{schema}.orders", f"spark_catalog.`{schema}`.`orders`")):
        assert catalog_location(bare, name) == "/lake/a place%20here"
    assert catalog_location(bare, "orders_2") == "s3://lake/orders"


def test_what_is_no_delta_table_is_refused_by_its_kind_although_its_data_source_is_missing(bare: SparkSession) -> None:
    with pytest.raises(RequestError, match="vectors is a lance table") as refusal:
        catalog_location(bare, "vectors")
    assert (refusal.value.found, refusal.value.expected) == ("lance", "delta")
    with pytest.raises(RequestError, match="seen is a view"):
        catalog_location(bare, "seen")
    with pytest.raises(TableNotFound, match="has no table nothing"):
        catalog_location(bare, "nothing")


def test_a_comment_that_looks_like_a_location_leads_nowhere(bare: SparkSession) -> None:
    with pytest.raises(StorageError, match=r"more than one location of forged.*by its location"):
        catalog_location(bare, "forged")


def test_a_catalog_whose_package_is_missing_is_named(bare: SparkSession) -> None:
    bare.conf.set("spark.sql.catalog.unity", "io.unitycatalog.spark.UCSingleCatalog")
    with pytest.raises(EngineUnavailable, match=r"catalog unity, which it cannot load.*package"):
        catalog_location(bare, "unity.shop.orders")


def test_what_java_raises_while_a_change_is_planned_is_typed(tmp_path: Path) -> None:
    table = _table(tmp_path)
    with pytest.raises(EngineUnavailable, match="lacks a part that it needs"):
        table.plan({"kind": "append", "source": "s3a://bucket/rows.parquet"})
    with pytest.raises(EngineUnavailable, match="lacks a part that it needs"):
        spark_row_engine().new_fields(table.snapshot().schema, "s3a://bucket/rows.parquet")


def _table(folder: Path) -> explorer.Table:
    write(open_store(folder / "table"), {0: (PROTOCOL, METADATA, add("a"))})
    return explorer.open_table(folder / "table")

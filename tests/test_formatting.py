"""Numbers, times and hostile text as people read them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from explorer import formatting as fmt

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(None, "unknown"), (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (319_500_000, "319.5 MB"), (999_960, "1.0 MB")],
)
def test_size_is_in_decimal_units(number: int | None, expected: str) -> None:
    assert fmt.size(number) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (None, "unknown"),
        (7, "7"),
        (999, "999"),
        (1000, "1 k"),
        (20_000, "20 k"),
        (1_627_778, "1.63 M"),
        (-2500, "−2.5 k"),
    ],
)
def test_compact_keeps_three_figures(number: float | None, expected: str) -> None:
    assert fmt.compact(number) == expected


def test_unknown_is_never_zero() -> None:
    assert fmt.count(None) == "unknown"
    assert fmt.signed(None) == "unknown"
    assert fmt.percent(None, 10) == "unknown"
    assert fmt.percent(1, None) == "unknown"
    assert fmt.quantity(None, "row") == "rows unknown"
    assert fmt.quantity(None, "row", fmt.signed) == "rows unknown"


def test_a_number_and_its_noun_agree_however_the_number_is_written() -> None:
    assert [fmt.quantity(number, "row") for number in (0, 1, -1, 1_234)] == [
        "0 rows",
        "1 row",
        "\u22121 row",
        "1,234 rows",
    ]
    assert [fmt.quantity(number, "row", fmt.signed) for number in (0, 1, -1, 25)] == [
        "0 rows", "+1 row", "\u22121 row", "+25 rows"
    ]  # fmt: skip
    assert [fmt.quantity(number, "row", fmt.compact) for number in (1, 54_709)] == ["1 row", "54.7 k rows"]


def test_a_share_that_is_not_zero_is_not_shown_as_zero() -> None:
    assert fmt.percent(1, 1_000_000) == "< 0.1 %"
    assert fmt.percent(0, 10) == "0 %"


def test_signs_are_minus_signs() -> None:
    assert fmt.signed(1234) == "+1,234"
    assert fmt.signed(-1234) == "−1,234"
    assert fmt.signed(0) == "0"


def test_moment_carries_its_zone() -> None:
    berlin = timezone(timedelta(hours=1))
    assert fmt.moment(datetime(2026, 3, 2, 15, 5, 11, tzinfo=berlin)) == "Mon 2 Mar 2026 14:05:11 UTC"


def test_timestamp_sorts_and_carries_its_zone() -> None:
    berlin = timezone(timedelta(hours=1))
    assert fmt.timestamp(datetime(2026, 3, 2, 15, 5, 11, tzinfo=berlin)) == "2026-03-02 14:05:11 UTC"
    assert fmt.timestamp(None) == "unknown"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (timedelta(seconds=3), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(hours=5), "5 hours ago"),
        (timedelta(days=40), "1 month ago"),
        (timedelta(days=800), "2 years ago"),
        (-timedelta(days=2), "in the future"),
    ],
)
def test_age_is_relative_to_the_given_moment(before: timedelta, expected: str) -> None:
    assert fmt.age(NOW - before, NOW) == expected


def test_shorten_keeps_both_ends() -> None:
    shown = fmt.shorten("region=eu/part-00012-9f3c1a2b3c4d5e6f-c000.snappy.parquet", 30)
    assert len(shown) == 30
    assert shown.startswith("region=eu/")
    assert shown.endswith(".parquet")


def test_names_of_a_list_are_cut_where_they_stay_apart() -> None:
    sensors = [f"measurement_of_sensor_{number:04}_in_hall" for number in range(3)]
    assert fmt.shorten_apart(sensors, 16) == [f"\u2026or_{number:04}_in_hall" for number in range(3)]
    keys = ["customer_primary_identifier_hash", "supplier_primary_identifier_hash"]
    assert fmt.shorten_apart(keys, 20) == [fmt.shorten(key, 20) for key in keys]
    assert fmt.shorten_apart(["a", "a"], 20) == ["a", "a"]


def test_shortened_paths_keep_folder_and_file_apart() -> None:
    path = "event_date=2026-10-19/country=Germany/part-00012-9f3c1a2b-3c4d-5e6f-c000.snappy.parquet"
    shown = fmt.shorten_path(path, 58)
    assert len(shown) <= 58
    assert shown.startswith("event_date")
    assert "/part-00012" in shown
    assert shown.endswith(".parquet")
    assert fmt.shorten_path("a/b.parquet") == "a/b.parquet"


def test_direction_changing_and_control_characters_are_made_visible() -> None:
    assert fmt.plain("a\u202eb\x00c\nd") == "a�b�c d"
    assert fmt.readable_lines("a\u202eb\x00c\nd") == "a�b�c\nd"
    assert fmt.readable_lines("abc", 2) == "ab…"


def test_plotly_text_is_drawn_as_it_stands() -> None:
    shown = fmt.plotly_text("<b>x</b> <a href='javascript:1'>y</a> & %{y} $e=mc^2$")
    assert "<" not in shown
    assert "$" not in shown
    assert "%{" not in shown
    assert shown.startswith("&lt;b&gt;x&lt;/b&gt;")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (b"\x00\xff", "0x00ff"),
        (0.1, "0.1"),
        (0.1 + 0.2, "0.30000000000000004"),
        (2.0, "2"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        ({"a": None, "b": [1, 2]}, "{a: null, b: [1, 2]}"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02 03:04:05 UTC"),
        (datetime(2026, 1, 2, 3, 4, 5), "2026-01-02 03:04:05"),  # noqa: DTZ001  # a timestamp without time zone
    ],
)
def test_values_of_rows_as_text(value: object, expected: str) -> None:
    assert fmt.value_text(value) == expected


def test_values_are_shown_whole_or_say_that_they_are_cut() -> None:
    assert fmt.value_text("x" * 200) == "x" * 200
    assert fmt.value_text("x" * 201) == "x" * 200 + "…"
    assert fmt.value_text(b"x" * 101) == "0x" + "78" * 100 + "…"


def test_rows_that_are_masked_no_more_are_shown_again() -> None:
    assert [fmt.hidden_rows(masked) for masked in (0, 1, 2_500, -1, -3)] == [
        "0 more rows hidden", "1 more row hidden", "2,500 more rows hidden", "1 row shown again", "3 rows shown again"
    ]  # fmt: skip


def test_a_text_that_is_cut_behind_an_ellipsis_has_only_one() -> None:
    assert fmt.plain("no credentials,\u2026 set them", 16) == "no credentials,\u2026"
    assert fmt.plain("a\u2026b", 2) == "a\u2026"
    assert fmt.plain("a\u2026", 2) == "a\u2026"

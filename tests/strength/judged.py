"""What a person says of mutants that no test notices: why they are equivalent, or that nothing is promised there."""

from __future__ import annotations

from typing import Final

__all__ = ["JUDGED"]

_SAME_NUMBERS: Final = "whole numbers are 64 bits wide without being asked to, and none are of any type"
_ORDER: Final = "bytes of UTF-8 are in the order of their characters, and no two paths are the same"
_NEGATIVE: Final = "below zero either way, which is all that is asked of it"
_VACUUM: Final = "a VACUUM ends after the version that it begins with, so in version 1 or later"
_UNSAID: Final = "parse_partition_value says what is wrong, and drops these words"

JUDGED: Final[dict[tuple[str, ...], str]] = {
    (
        "protocol.deletion_vectors.x_encode_bitmap",
        'return struct.pack("<i", MAGIC) + BitMap64(rows.tolist()).serialize()',
        'return struct.pack("<I", MAGIC) + BitMap64(rows.tolist()).serialize()',
    ): "the magic number is positive and below 2^31: its four bytes are the same with a sign and without",
    (
        "protocol.deletion_vectors.x__decode_legacy",
        "low = BitMap.deserialize(data[position + 4 : position + 4 + size])",
        "low = BitMap.deserialize(data[position + 4 : position + 5 + size])",
    ): "a bitmap knows its own length: a byte behind it is not looked at",
    (
        "protocol.deletion_vectors.x_encode_vectors",
        'content += struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))',
        'content += struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))',
    ): "a length is positive and below 2^31: its four bytes are the same with a sign and without",
    (
        "protocol.deletion_vectors.x__read_frame",
        "return holder.read_range(key, offset, descriptor.size_in_bytes + 8)",
    ): "one byte more is read and not looked at: a frame may be followed by the next",
    (
        "protocol.deletion_vectors.x_z85_decode",
        'raise _corrupt(vector, f"its text is not Z85 ({error})") from error',
    ): "five characters above the largest number: the same error, without the decoder's own words",
    (
        "protocol.partition_values.x__decimal",
        "exact = value.quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)",
    ): "quantize takes the exponent alone",
    (
        "protocol.partition_values.x__timestamp",
        "hours, minutes = int(zone[1:3]), int(zone[4:6])",
        "hours, minutes = int(zone[1:3]), int(zone[4:7])",
    ): "the pattern ends a zone after six characters",
    ("protocol.partition_values.x_format_partition_value", "case _: / assert_never(value)"): "no value comes here",
    ("protocol.partition_values.x_format_partition_value", "assert_never(value)"): "no value comes here",
    (
        "protocol.partition_values.x_format_partition_value",
        'return format(value, "f")',
    ): "they differ in how they write what is not finite, which no decimal of a table is",
    (
        "protocol.partition_values.x_zone_doubt",
        "texts = partition_texts(maps, name).drop_null().to_pylist() if len(maps) else []",
    ): "an empty array that PyArrow makes has offsets; one that another library hands over may have none",
    ("protocol.partition_values.x__boolean", 'raise ValueError("neither true nor false")'): _UNSAID,
    ("protocol.partition_values.x__decimal", 'raise ValueError("too many digits")'): _UNSAID,
    ("protocol.partition_values.x__decimal", 'raise ValueError("too many digits after the point")'): _UNSAID,
    ("protocol.partition_values.x__decimal", 'raise ValueError("not a number")'): _UNSAID,
    ("protocol.partition_values.x__integer", 'raise ValueError("out of range")'): _UNSAID,
    ("protocol.partition_values.x__parse", 'raise ValueError(f"{kind.name} cannot partition a table")'): _UNSAID,
    ("protocol.partition_values.x__timestamp", 'raise ValueError("not a timestamp")'): _UNSAID,
    ("protocol.partition_values.x__timestamp", 'raise ValueError("not a zone")'): _UNSAID,
    (
        "maintenance.unused_files.x__add_tombstones",
        "times = np.zeros(len(chunk), np.int64) if stated is None else numbers(stated.cast(pa.int64()))[0]",
        "times = np.zeros(len(chunk), None) if stated is None else numbers(stated.cast(pa.int64()))[0]",
    ): _SAME_NUMBERS,
    (
        "maintenance.unused_files.x__add_tombstones",
        "times = np.zeros(len(chunk), np.int64) if stated is None else numbers(stated.cast(pa.int64()))[0]",
        "times = np.zeros(len(chunk), ) if stated is None else numbers(stated.cast(pa.int64()))[0]",
    ): _SAME_NUMBERS,
    (
        "maintenance.unused_files.x__in_range",
        "return min(max(time, UNNAMED + 1), FOREVER - 1)",
        "return min(max(time, UNNAMED + 2), FOREVER - 1)",
    ): "the history, which counts as well, has a removal of a time before 1970 as one of 1970",
    (
        "maintenance.unused_files.x__latest",
        "if (times == times[:1]).all():",
    ): "the way for times that differ gives the same for times that do not; it takes longer",
    (
        "maintenance.unused_files.x_needed_files",
        "needed.add_columns(life.take(removed, _COLUMNS), life.deletion_times[removed])",
        "needed.add_columns(life.take(removed, ), life.deletion_times[removed])",
    ): "more columns are taken than are used",
    (
        "maintenance.unused_files.x_needed_files",
        "needed.add(strings([path for path, _ in files]), np.array([written for _, written in files], np.int64))",
    ): _SAME_NUMBERS,
    (
        "maintenance.unused_files.xǁNeededFilesǁadd_lines",
        "times = np.full(len(found), FOREVER) if until is None else np.array(until, np.int64)",
    ): _SAME_NUMBERS,
    (
        "maintenance.unused_files.xǁNeededFilesǁadd_vectors",
        "self.add(strings([place for place, _ in named]), np.array([time for _, time in named], np.int64))",
    ): _SAME_NUMBERS,
    (
        "maintenance.unused_files.x_one_column",
        "return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()",
    ): "chunks put together are the one chunk, as a copy",
    (
        "maintenance.unused_files.xǁNeededFilesǁuntil",
        "return np.maximum(found, _latest(self._names, _names(keys))) if self._names else found",
    ): "where no name counts, the latest of all names is before every time",
    (
        "log.last_checkpoint.x_digests",
        "first, second = (hashlib.md5(form.encode(), usedforsecurity=False).hexdigest() for form in forms)",
    ): "it says what the digest is for, which only some builds of OpenSSL look at",
    (
        "log.last_checkpoint.x__texts",
        'return [f"{path}={leaf}" for path, leaf in sorted(_pairs(value, ""), key=lambda pair: pair[0].encode())]',
        'return [f"{path}={leaf}" for path, leaf in sorted(_pairs(value, ""), key=None)]',
    ): _ORDER,
    (
        "log.last_checkpoint.x__texts",
        'return [f"{path}={leaf}" for path, leaf in sorted(_pairs(value, ""), key=lambda pair: pair[0].encode())]',
        'return [f"{path}={leaf}" for path, leaf in sorted(_pairs(value, ""), )]',
    ): _ORDER,
    (
        "log.last_checkpoint.x__quoted",
        'return f\'"{quote(text, safe="-._~")}"\'',
    ): "the letter X needs no escape",
    (
        "protocol.file_paths.x__strip_authority",
        'return rest[slash:] if slash >= 0 else "/"',
        'return rest[slash:] if slash > 0 else "/"',
    ): "it was looked for from the third character on",
    (
        "protocol.file_paths.x__strip_authority",
        'return rest[slash:] if slash >= 0 else "/"',
        'return rest[slash:] if slash >= 1 else "/"',
    ): "it was looked for from the third character on",
    (
        "versions.retention.expiry.x__superseded",
        "keys = path_ids.astype(np.int64) * (int(files.max(initial=-1)) + 2) + files + 1",
    ): "another number for each pair of a path and a file of vectors, and none for two",
    (
        "versions.retention.expiry.x__superseded",
        "found[len(keys) - 1 - from_end] = False",
    ): "None is False among flags",
    (
        "versions.retention.expiry.x__earliest",
        'order = np.argsort(expiry[rows], kind="stable")',
    ): "of files with one expiry either decides",
    (
        "versions.retention.expiry.x__earliest",
        "levels = max(count.bit_length(), 1)",
        "levels = max(count.bit_length(), 2)",
    ): "a level more, which no span reaches",
    (
        "versions.retention.expiry.x__earliest",
        "flat = best.reshape(-1)",
        "flat = best.reshape(-2)",
    ): "NumPy takes any negative number for the length that is left",
    (
        "versions.retention.expiry.x__earliest",
        "power = np.frexp((stop - start).astype(np.float64))[1].astype(np.int64) - 1",
        "power = np.frexp((stop - start).astype(None))[1].astype(np.int64) - 1",
    ): "what NumPy chooses is the same type",
    (
        "versions.retention.expiry.x__earliest",
        "first = np.full(count, -1, np.int64)",
        "first = np.full(count, -2, np.int64)",
    ): _NEGATIVE,
    (
        "versions.retention.expiry.x_log_risk",
        "since, first = np.full(count, FOREVER), np.full(count, -1, np.int64)",
        "since, first = np.full(count, FOREVER), np.full(count, -2, np.int64)",
    ): _NEGATIVE,
    (
        "versions.retention.expiry.x__latest_by",
        "latest = np.full(int(groups.max(initial=-1)) + 1, np.iinfo(np.int64).min)",
    ): "places that no group has",
    (
        "versions.retention.expiry.x__out_of_reach",
        'paths = life.take(rows, ["path"]).column(0)',
        "paths = life.take(rows, ).column(0)",
    ): "the path is the first of all columns",
    (
        "versions.retention.horizon.x__with_times",
        'paths[rows] = np.maximum(paths[rows], look.modified(life.take(rows, ["path"]).column(0).combine_chunks()))',
    ): "the path is the first of all columns",
    (
        "versions.retention.expiry.x_file_times",
        "clock, times = -1, {}",
        "clock, times = -2, {}",
    ): "no file is of a time before 1970",
    (
        "versions.retention.expiry.x_log_risk",
        "if end > start:",
        "if end >= start:",
    ): "a span of no version",
    (
        "versions.retention.expiry.x_readable_spans",
        "rows = np.flatnonzero(chosen & (start < stop))",
        "rows = np.flatnonzero(chosen & (start <= stop))",
    ): "a file that lived in no readable version covers none",
    (
        "versions.retention.version_states.x__cut_off",
        "if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:",
    ): "eighteen digits of milliseconds are millions of years: nothing is older",
    (
        "versions.retention.version_states.x__parameter",
        'return "" if not parameters else str(parameters.get(name, ""))',
    ): "neither is a number nor the status that is asked for",
    (
        "versions.retention.version_states.x__vacuums",
        "case _: / pass",
    ): "the same without saying so",
    (
        "versions.retention.version_states.xǁVersionRisksǁ_taken",
        "taken[(taken < 0) & (removed < vacuum.before) & (gone_in <= vacuum.version)] = vacuum.version",
        "taken[(taken <= 0) & (removed < vacuum.before) & (gone_in <= vacuum.version)] = vacuum.version",
    ): _VACUUM,
    (
        "versions.retention.version_states.xǁVersionRisksǁ_taken",
        "taken[(taken < 0) & (removed < vacuum.before) & (gone_in <= vacuum.version)] = vacuum.version",
        "taken[(taken < 1) & (removed < vacuum.before) & (gone_in <= vacuum.version)] = vacuum.version",
    ): _VACUUM,
    (
        "versions.retention.version_states.xǁVersionRisksǁ_taken",
        "taken[(taken < 0) & (removed < vacuum.before) & (gone_in <= vacuum.version)] = vacuum.version",
        "taken[(taken < 0) & (removed < vacuum.before) & (gone_in < vacuum.version)] = vacuum.version",
    ): "the commit that records the end of a VACUUM removes no file",
    (
        "versions.retention.version_states.xǁVersionRisksǁgiven",
        "gone = vacuums >= 0 if lost is None else lost.count > 0",
    ): _VACUUM,
    (
        "versions.retention.version_states.xǁVersionStatesǁ_span",
        "None if vacuum < 0 else vacuum,",
    ): _VACUUM,
    (
        "versions.retention.version_states.x__before",
        "lacking, covered = np.full(stop - start, -1, np.int64), np.zeros(stop - start, bool)",
    ): "each place is written before it is read",
}
"""(function, changed line), or these and what the line became -> why nobody could notice: the mutant is equivalent, or
what it changes is not promised."""

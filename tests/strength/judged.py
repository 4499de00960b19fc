"""What a person says of mutants that no test notices: why they are equivalent, or that nothing is promised there."""

from __future__ import annotations

from typing import Final

__all__ = ["JUDGED"]

_SAME_NUMBERS: Final = "whole numbers are 64 bits wide without being asked to, and none are of any type"
_ORDER: Final = "bytes of UTF-8 are in the order of their characters, and no two paths are the same"
_NEGATIVE: Final = "below zero either way, which is all that is asked of it"
_VACUUM: Final = "a VACUUM ends after the version that it begins with, so in version 1 or later"
_SHORTCUT: Final = "the longer way, which is always right, gives the same"
_UNREADABLE: Final = "the version asked for is not among those that can be read, which are in a row"
_WITHIN: Final = "no file is added before the version ahead of the record, nor removed before its first"
_KEPT: Final = "what is not used any more is let go of later"
_AT_IMPORT: Final = "it runs once, when its module is imported, before a mutant is switched on"
_BEYOND: Final = "places after that of the last version are not looked at"
_UNSAID: Final = "parse_partition_value says what is wrong, and drops these words"
_PART_ENDS: Final = "where a part of a log ends changes no answer"
_TOLD: Final = "the version is told of a log alone of which no version can be read"
_TOO_LARGE: Final = "from which size on one is too large is not promised to the byte"
_STEP: Final = "an identity column whose step is 0 was refused before"

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
        "versions.retention.version_states.x__cut_off",
        "if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS:",
    ): "eighteen digits of milliseconds are millions of years: nothing is older",
    (
        "versions.retention.version_states.x__parameter",
        'return "" if not parameters else str(parameters.get(name, ""))',
    ): "neither is a number nor the status that is asked for",
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
    (
        "log.last_checkpoint.x__unique",
        'raise ValueError("duplicate keys")',
        "raise ValueError(None)",
    ): "whoever catches it does not look at its words",
    (
        "log.last_checkpoint.x_encode_last_checkpoint",
        "written = json.loads(encode_json(value), parse_float=_Number, parse_int=_Number)",
        "written = json.loads(encode_json(value), parse_float=_Number, parse_int=None)",
    ): "a whole number is written in one way",
    (
        "log.last_checkpoint.x_encode_last_checkpoint",
        "written = json.loads(encode_json(value), parse_float=_Number, parse_int=_Number)",
        "written = json.loads(encode_json(value), parse_float=_Number, )",
    ): "a whole number is written in one way",
    (
        "log.log_path.x_parse_log_name",
        'if len(name) == 25 and name[20:] == ".json" and name.isascii() and (digits := name[:20]).isdigit():',
        'if len(name) == 25 and name[20:] == "XX.jsonXX" and name.isascii() and (digits := name[:20]).isdigit():',
    ): _SHORTCUT,
    (
        "log.log_path.x_parse_log_name",
        'if len(name) == 25 and name[20:] == ".json" and name.isascii() and (digits := name[:20]).isdigit():',
        'if len(name) == 25 and name[20:] == ".json" and name.isascii() and (digits := name[:21]).isdigit():',
    ): _SHORTCUT,
    (
        "log.log_path.x_parse_log_name",
        'if len(name) == 25 and name[20:] == ".json" and name.isascii() and (digits := name[:20]).isdigit():',
        'if len(name) != 25 and name[20:] == ".json" and name.isascii() and (digits := name[:20]).isdigit():',
    ): _SHORTCUT,
    (
        "log.log_path.x_parse_log_name",
        'if len(name) == 25 and name[20:] == ".json" and name.isascii() and (digits := name[:20]).isdigit():',
        'if len(name) == 26 and name[20:] == ".json" and name.isascii() and (digits := name[:20]).isdigit():',
    ): _SHORTCUT,
    (
        "log.log_path.x_parse_log_name",
        'if len(name) == 25 and name[20:] == ".json" and name.isascii() and (digits := name[:20]).isdigit():',
        'if len(name) == 25 and name[21:] == ".json" and name.isascii() and (digits := name[:20]).isdigit():',
    ): _SHORTCUT,
    (
        "log.log_segment.x_arrange_log",
        "case LogFileKind.STAGED_COMMIT: / continue",
    ): "no other case takes it",
    (
        "log.log_segment.xǁLogListingǁ_compacted",
        "def _compacted(self, start: int = 0) -> Iterator[int]:",
        "def _compacted(self, start: int = 1) -> Iterator[int]:",
    ): "a compaction ends after the version that it begins with, so with 1 or later",
    (
        "log.log_segment.xǁLogListingǁ_gap",
        "cleaned = missing < next(iter(self.commits), missing + 1)",
        "cleaned = missing < next(iter(self.commits), missing + 2)",
    ): "above what is missing either way",
    (
        "log.log_segment.xǁLogListingǁ_gap",
        "cleaned = missing < next(iter(self.commits), missing + 1)",
        "cleaned = missing <= next(iter(self.commits), missing + 1)",
    ): "what is missing is none of the commits",
    (
        "log.log_segment.xǁLogListingǁ_gap",
        "if cleaned and readable and readable[0] > target:",
        "if cleaned and readable and readable[0] >= target:",
    ): _UNREADABLE,
    (
        "log.log_segment.xǁLogListingǁ_gap",
        "if cleaned and readable and readable[0] > target:",
        "if cleaned and readable and readable[1] > target:",
    ): _UNREADABLE,
    (
        "log.log_segment.xǁLogListingǁ_not_found",
        "nearest = latest if version > latest else earliest",
        "nearest = latest if version >= latest else earliest",
    ): "the latest version is found",
    (
        "log.log_segment.xǁLogListingǁearliest",
        "bases += islice(self._compacted(lowest - 1), 1)",
        "bases += islice(self._compacted(lowest - 1), None)",
    ): "they ascend: the first is the lowest",
    (
        "log.log_segment.xǁLogListingǁearliest",
        "bases += islice(self._compacted(lowest - 1), 1)",
        "bases += islice(self._compacted(lowest - 1), 2)",
    ): "they ascend: the first is the lowest",
    (
        "log.log_segment.xǁLogListingǁfirst_recorded",
        "if oldest + len(self.commits) == version:",
        "if oldest - len(self.commits) == version:",
    ): _SHORTCUT,
    (
        "protocol.file_paths.x_canonical_key",
        'return decode_path(path) if "%" in path or ":" in path else path',
        'return decode_path(path) if ("%" in path or ":" in path) or True else path',
    ): _SHORTCUT,
    (
        "protocol.file_paths.x_is_absolute_location",
        'scheme = _SCHEME.match(location) if ":/" in location else None',
        'scheme = _SCHEME.match(location) if (":/" in location) or True else None',
    ): _SHORTCUT,
    (
        "maintenance.vacuum.x__needed",
        "carried = log.on_segment(history.latest, lambda segment: carry_actions(log.store, segment))",
        "carried = log.on_segment(None, lambda segment: carry_actions(log.store, segment))",
    ): "the history is of the latest version",
    (
        "maintenance.vacuum.x__with_changes",
        "return [commits[each.version] for each in history.commits if each.change_files and each.version in commits]",
        "return [commits[each.version] for each in history.commits if each.change_files or each.version in commits]",
    ): "a commit without change files names none, and a recorded one is in the log",
    (
        "maintenance.vacuum.x_plan_vacuum",
        "effects = _effects(log, history, listing, found) if found.files.num_rows else _NOTHING",
        "effects = _effects(log, history, listing, found) if (found.files.num_rows) or True else _NOTHING",
    ): "the effects of deleting nothing are none",
    (
        "versions.retention.expiry.x_readable_spans",
        "start = np.clip(life.added.astype(np.int64) - life.readable_from, 0, count)",
        "start = np.clip(life.added.astype(np.int64) - life.readable_from, 0, None)",
    ): "no file is added after the last version",
    (
        "versions.retention.expiry.x_readable_spans",
        "stop = np.clip(life.removed.astype(np.int64) - life.readable_from, 0, count)",
        "stop = np.clip(life.removed.astype(np.int64) - life.readable_from, None, count)",
    ): "a file that was removed before lives in no readable version either way",
    (
        "versions.retention.version_states.x__before",
        "missing = -1 if start == 0 else start - 1",
        "missing = -1 if (start == 0) and False else start - 1",
    ): "one before 0 is -1",
    (
        "versions.retention.version_states.x__before",
        "for version in range(start, stop if compacted else max(listed, default=start - 1) + 1):",
        "for version in range(start, stop if (compacted) or True else max(listed, default=start - 1) + 1):",
    ): _SHORTCUT,
    (
        "versions.retention.version_states.x__before",
        "for version in range(start, stop if compacted else max(listed, default=start - 1) + 1):",
        "for version in range(start, stop if compacted else max(listed, default=start - 2) + 1):",
    ): "a range of no version",
    (
        "log.replay.x__ahead",
        "with ThreadPoolExecutor(1) as ahead:",
    ): "batches are read one after the other, each while the one before is decoded",
    (
        "log.replay.x__ahead",
        "if len(batches) < 2:",
    ): "read at once or ahead: the same commits in the same order",
    (
        "versions.diff.x_diff_metadata",
        "lineage = column_lineage(schemas, 1)",
        "lineage = column_lineage(schemas, 2)",
    ): "no schema is of a later version",
    (
        "versions.diff.x__diff_files",
        "goes[places[stays]] = False",
        "goes[places[stays]] = None",
    ): "None is False among flags",
    (
        "versions.diff.x__diff_files",
        "return _FilesOfDiff(life, added, removed, was, now, from_version <= to_version), totals",
        "return _FilesOfDiff(life, added, removed, was, now, from_version < to_version), totals",
    ): "a version does not differ from itself",
    (
        "versions.lifetimes.events.xǁIntervalsǁkept",
        "found = cls(0, before)",
    ): "every column is replaced, and nothing is worked out any more",
    (
        "versions.lifetimes.events.xǁ_Pathǁ__init__",
        "self._ended, self._version = -1, -1",
    ): "both are set by the first event",
    (
        "versions.lifetimes.events.x__contradictions",
        'live: str | None = ""',
        'live: str | None = "XXXX"',
    ): "no vector has such an identity",
    (
        "versions.lifetimes.events.x__contradictions",
        'live = adds[-1] if adds else "" if live in removes else live',
        'live = adds[-1] if adds else "XXXX" if live in removes else live',
    ): "no vector has such an identity",
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁkept",
        '"vectors": pa.table({"kind": strings([kind for kind, _ in heads]), "path": strings([p for _, p in heads])}),',
    ): "these columns are read by their places",
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁagain",
        '[{name: numpy_array(only_array(events, name), flags=name == "quiet") for name in _EVENT}]',
    ): "they become flags where all events are put together",
    (
        "versions.history_totals.x__of_64_bits",
        "return values, known if amounts.sum() < _MOST else known & (amounts < _MOST // len(values))",
        "return values, known if amounts.sum() < _MOST else known & (amounts <= _MOST // len(values))",
    ): _TOO_LARGE,
    (
        "versions.history_totals.x__of_64_bits",
        "return values, known if amounts.sum() < _MOST else known & (amounts < _MOST // len(values))",
        "return values, known if amounts.sum() < _MOST else known & (amounts < _MOST / len(values))",
    ): _TOO_LARGE,
    (
        "versions.history_totals.x__of_64_bits",
        "return values, known if amounts.sum() < _MOST else known & (amounts < _MOST // len(values))",
        "return values, known if amounts.sum() <= _MOST else known & (amounts < _MOST // len(values))",
    ): _TOO_LARGE,
    (
        "versions.history_totals.xǁTotalsǁ_running",
        "steps = np.zeros((2, self._count + 2), np.int64)",
        "steps = np.zeros((2, self._count + 3), np.int64)",
    ): "a column more, which is cut off",
    (
        "versions.history_totals.xǁTotalsǁ_running",
        "start = np.clip(life.added - life.first + 1, 0, self._count)",
        "start = np.clip(life.added - life.first + 1, None, self._count)",
    ): _WITHIN,
    (
        "versions.history_totals.xǁTotalsǁ_running",
        "start = np.clip(life.added - life.first + 1, 0, self._count)",
        "start = np.clip(life.added - life.first + 1, 0, None)",
    ): _WITHIN,
    (
        "versions.history_totals.xǁTotalsǁ_running",
        "start = np.clip(life.added - life.first + 1, 0, self._count)",
        "start = np.clip(life.added - life.first + 1, 1, self._count)",
    ): "sums are told from the first recorded version on",
    (
        "versions.history_totals.xǁTotalsǁ_running",
        "end = np.clip(life.removed.astype(np.int64) - life.first + 1, 0, self._count + 1)",
        "end = np.clip(life.removed.astype(np.int64) - life.first + 1, None, self._count + 1)",
    ): _WITHIN,
    (
        "versions.history_totals.xǁTotalsǁ_running",
        "end = np.clip(life.removed.astype(np.int64) - life.first + 1, 0, self._count + 1)",
        "end = np.clip(life.removed.astype(np.int64) - life.first + 1, 1, self._count + 1)",
    ): _WITHIN,
    (
        "versions.history_totals.xǁTotalsǁ_running",
        "for row, amounts in enumerate((np.where(known, values, 0), (~known).astype(np.int64))):",
        "for row, amounts in enumerate((np.where(known, values, 1), (~known).astype(np.int64))):",
    ): "a sum of which a part is unknown is not told",
    (
        "versions.history_totals.xǁTotalsǁ_running",
        "for row, amounts in enumerate((np.where(known, values, 0), (~known).astype(np.int64))):",
        "for row, amounts in enumerate((np.where(known, values, 0), (~known).astype(None))):",
    ): "counts of files are exact in any type of number",
    (
        "versions.lifetimes.builder.x__deletion_times",
        "found = np.array([time if time is not None and 0 <= time < _LATEST_TIME else 0 for time in times], np.int64)",
    ): "a time out of range is dropped below, and 0 is 0",
    (
        "log.commit.x__plain_lines",
        'whole = contents[0] if len(contents) == 1 else (b"" if closed else b"\\n").join(contents)',
        'whole = contents[0] if (len(contents) == 1) and False else (b"" if closed else b"\\n").join(contents)',
    ): "one text joined is that text",
    (
        "versions.lifetimes.events.xǁIntervalsǁ_apply_tidy",
        'self.contradictions += [Contradiction(at, "added and removed", name) for at, name in both]',
        'self.contradictions = [Contradiction(at, "added and removed", name) for at, name in both]',
    ): "these are the first",
    (
        "versions.lifetimes.events.xǁIntervalsǁapply",
        "self._apply_tidy(events, tidy[~odd[tidy]] if odd.any() else tidy, vectors)",
        "self._apply_tidy(events, tidy[~odd[tidy]] if (odd.any()) or True else tidy, vectors)",
    ): _SHORTCUT,
    (
        "versions.lifetimes.events.x__by_path",
        "found <<= 32",
        "found <<= 33",
    ): "more room than the order needs",
    (
        "versions.lifetimes.events.x__odd_paths",
        "odd = np.zeros(int(events.path.max(initial=-1)) + 1, bool)",
        "odd = np.zeros(int(events.path.max(initial=+1)) + 1, bool)",
    ): "a place more, which no path has",
    (
        "versions.lifetimes.events.x__odd_paths",
        "odd = np.zeros(int(events.path.max(initial=-1)) + 1, bool)",
        "odd = np.zeros(int(events.path.max(initial=-1)) + 2, bool)",
    ): "a place more, which no path has",
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁ_contradictions",
        "names = self._codes.paths.distinct() if found else []",
        "names = self._codes.paths.distinct() if (found) or True else []",
    ): _SHORTCUT,
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁbuild",
        "intervals.apply(self._all_events(rows, paths, vectors, last=last), self._codes.vectors)",
        "intervals.apply(self._all_events(rows, paths, vectors, last=None), self._codes.vectors)",
    ): _KEPT,
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁbuild",
        "recorded = self._recorded.build(self._left, last=last)",
        "recorded = self._recorded.build(self._left, last=None)",
    ): _KEPT,
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁbuild",
        "in_base = np.full(len(self._codes.paths), -1, np.int32)",
        "in_base = np.full(len(self._codes.paths), -2, np.int32)",
    ): _NEGATIVE,
    (
        "protocol.sql.predicates.xǁ_Parserǁ_unsplittable",
        'depth += (token.kind == "mark") * ((token.text in "([") - (token.text in ")]"))',
        'depth -= (token.kind == "mark") * ((token.text in "([") - (token.text in ")]"))',
    ): "counted the other way round, up to the same end",
    (
        "protocol.sql.predicates.xǁ_Parserǁ_unsplittable",
        'depth += (token.kind == "mark") * ((token.text in "([") - (token.text in ")]"))',
        'depth += (token.kind == "mark") * ((token.text in "XX([XX") - (token.text in ")]"))',
    ): "the letter X is no mark",
    (
        "protocol.sql.predicates.xǁ_Parserǁ_unsplittable",
        'depth += (token.kind == "mark") * ((token.text in "([") - (token.text in ")]"))',
        'depth += (token.kind == "mark") * ((token.text in "([") - (token.text in "XX)]XX"))',
    ): "the letter X is no mark",
    (
        "protocol.sql.predicates.xǁ_Parserǁ_unsplittable",
        'cases += token.is_word("CASE") - token.is_word("END")',
        'cases -= token.is_word("CASE") - token.is_word("END")',
    ): "counted the other way round, up to the same end",
    (
        "protocol.statistics.skipping_truth.x__like_truth",
        "return side.holds(operator, text, facts.type, unknown=hopeful)",
        "return side.holds(operator, text, None, unknown=hopeful)",
    ): "texts are compared without a look at their type",
    (
        "protocol.statistics.skipping_truth.x__like_truth",
        "only = _fitting(part.pattern, facts) if facts.partition else None",
        "only = _fitting(part.pattern, facts) if (facts.partition) or True else None",
    ): "a value between two equal bounds is that value, too",
    (
        "protocol.statistics.skipping_truth.x_successor",
        "code = 0xE000 if 0xD800 <= code <= 0xDFFF else code",
    ): "no text has a character between U+D7FF and U+E000, so that any of them parts the same texts",
    (
        "protocol.sql.predicates.x__compare",
        'raise _NotUnderstood(f"the operator {operator} is not answered")',
    ): "no other operator is read",
    (
        "protocol.statistics.data_skipping.xǁ_Resolverǁ_find",
        "field: StructField | None = None",
    ): "a path has a name, which sets it",
    (
        "protocol.statistics.skipping_truth.x_unanswerable",
        'if str(field.metadata.get(CHAR_VARCHAR, "")).startswith("char"):',
    ): "what is there instead of nothing does not begin so either",
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁ_all_events",
        "columns = events.joined(last=last)",
        "columns = events.joined(last=None)",
    ): _KEPT,
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁ_all_events",
        "order = np.arange(1, 2 * len(row) + 1, 2, dtype=np.int32)",
        "order = np.arange(2, 2 * len(row) + 1, 2, dtype=np.int32)",
    ): "a file of the checkpoint comes behind, and the sort leaves it there",
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁ_named",
        "if not self._base.num_rows or not len(self._codes.paths):",
        "if not self._base.num_rows and not len(self._codes.paths):",
    ): _SHORTCUT,
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁ_named",
        "return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)",
    ): "of no file nothing is looked at, whatever the type",
    (
        "protocol.sql.predicates.xǁ_Parserǁ_after_column",
        'for word, kind in (("NULL", "null"), ("TRUE", "boolean"), ("FALSE", "boolean")):',
    ): "the kind of NULL is not asked for",
    (
        "protocol.statistics.skipping_truth.x_truth_of",
        "return Truth(np.ones(files, bool), np.ones(files, bool))",
    ): "ones are true in any type",
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁ__init__",
        "self._left: Mask = np.zeros(0, bool)",
    ): "it is set by build, before anybody asks for it",
    (
        "versions.lifetimes.events.x__removals_first",
        "swapped = swapped[vectors.differ(events.vector[order[swapped]], events.vector[order[swapped + 1]])]",
        "swapped = swapped[vectors.differ(events.vector[order[swapped]], events.vector[order[swapped - 1]])]",
    ): "where the two differ the path is odd either way, and each of its events is looked at by itself",
    (
        "log.last_checkpoint.x_hint_text",
        'return b""',
        'return b"XXXX"',
    ): "neither is JSON, and what is not JSON is no hint",
    (
        "log.verify.hash_chain.x_links",
        "head, before = START, -1",
        "head, before = START, +1",
    ): "the chain begins with START either way",
    (
        "log.verify.hash_chain.x_links",
        "head, before = START, -1",
        "head, before = START, -2",
    ): "the chain begins with START either way",
    (
        "log.verify.verify.xǁ_Walkǁ__init__",
        "self._info: CommitInfo | None = None",
        'self._info: CommitInfo | None = ""',
    ): "it is asked for where there is a commit, which sets it",
    (
        "log.verify.verify.xǁ_Walkǁ_commit",
        "self._info = None",
        'self._info = ""',
    ): "without a commit there is no state, and no checksum is held to one",
    (
        "log.verify.verify.xǁ_Walkǁ_commit",
        "new_protocol = None if state.protocol is protocol else state.protocol",
        "new_protocol = None if (state.protocol is protocol) and False else state.protocol",
    ): "a protocol that a commit leaves as it was is the one in force, but after a checkpoint that differs and is told",
    (
        "log.verify.readable_versions.xǁReadableVersionsǁdo_without",
        "self._vanished.add(version)",
        "self._vanished.add(None)",
    ): "a checkpoint that lost a sidecar still holds its small actions, and a compaction after it the newer ones",
    (
        "log.verify.readable_versions.xǁReadableVersionsǁ_hold",
        "is_same = (protocol, metadata) == (before.protocol, before.metadata)",
        "is_same = None",
    ): _SHORTCUT,
    (
        "log.verify.readable_versions.xǁReadableVersionsǁ_hold",
        "if is_same and version > 0:",
        "if is_same and version > 1:",
    ): _SHORTCUT,
    (
        "log.checkpoint.parquet_part.xǁCheckpointPartǁ_statistics",
        "values = self._values(index, keep, _TEXTS) if parsed is None or parsed.null_count else {}",
        "values = self._values(index, keep, _TEXTS) if (parsed is None or parsed.null_count) or True else {}",
    ): "what is read and not needed changes no answer",
    (
        "maintenance.maintenance.x__compaction",
        (
            "missing = [version for version in range(first, min(last, listing.latest + 1) + 1)"
            " if version not in listing.commits]"
        ),
        (
            "missing = [version for version in range(first, min(last, listing.latest + 2) + 1)"
            " if version not in listing.commits]"
        ),
    ): "the first that is missing is named",
    (
        "maintenance.maintenance.x__compaction",
        'field="from" if missing and missing[0] < lowest else "to",',
        'field="from" if missing and missing[0] <= lowest else "to",',
    ): "the oldest commit of the log is not missing",
    (
        "maintenance.maintenance.x_do_maintenance",
        "files: tuple[MaintenanceFile, ...] = ()",
        "files: tuple[MaintenanceFile, ...] = None",
    ): "every case sets it",
    (
        "versions.change_feed.feed.x__off",
        "after = FeedSpan(to_version + 1, to_version + 1)",
        "after = FeedSpan(to_version + 1, to_version + 2)",
    ): "the last span only ends what is before it",
    (
        "versions.change_feed.feed.x__off",
        "after = FeedSpan(to_version + 1, to_version + 1)",
        "after = FeedSpan(to_version + 2, to_version + 1)",
    ): "the last span only ends what is before it",
    (
        "versions.change_feed.feed.x__off",
        "after = FeedSpan(to_version + 1, to_version + 1)",
        "after = FeedSpan(to_version + 1, to_version - 1)",
    ): "the last span only ends what is before it",
    (
        "versions.kept_history.x__covers",
        (
            "if (facts.first, facts.readable_from) != (first_read(listing), listing.earliest())"
            " or facts.latest > listing.latest:"
        ),
        (
            "if (facts.first, facts.readable_from) != (first_read(listing), listing.earliest())"
            " and facts.latest > listing.latest:"
        ),
    ): "what is compared next differs too",
    (
        "versions.kept_history.xǁ_Keptǁ_first",
        "return FirstReadable(self._store, self._listing.segment(self._facts.readable_from), base.known())",
        "return FirstReadable(self._store, self._listing.segment(self._facts.readable_from), None)",
    ): _SHORTCUT,
    (
        "versions.kept_history.xǁ_Keptǁ_first",
        "return FirstReadable(self._store, self._listing.segment(self._facts.readable_from), base.known())",
        "return FirstReadable(self._store, self._listing.segment(self._facts.readable_from), )",
    ): _SHORTCUT,
    (
        "versions.record_search.x__is_within",
        "late = wanted.since is None or time >= wanted.since.astimezone(UTC)",
        "late = wanted.since is None or time >= wanted.since.astimezone(None)",
    ): "the same instant in another zone",
    (
        "versions.record_search.x__is_within",
        "return late and (wanted.until is None or time < wanted.until.astimezone(UTC))",
        "return late and (wanted.until is None or time < wanted.until.astimezone(None))",
    ): "the same instant in another zone",
    (
        "transaction.commit.committer.xǁ_Attemptǁ__init__",
        "self._commit_there = True",
        "self._commit_there = None",
    ): "what else tells the time of a version says nothing later, in a log that is whole",
    (
        "transaction.commit.committer.xǁ_Attemptǁ__init__",
        "self._commit_there = True",
        "self._commit_there = False",
    ): "what else tells the time of a version says nothing later, in a log that is whole",
    (
        "transaction.commit.committer.xǁ_Attemptǁ__init__",
        "self._in_doubt = False",
        "self._in_doubt = None",
    ): "None is as false",
    ("transaction.commit.committer.xǁ_Attemptǁ__init__", 'self._data = b""'): "written over before it is read",
    (
        "transaction.commit.committer.xǁ_Attemptǁ__init__",
        "self._before: TableState | None = None",
    ): "written over before it is read",
    (
        "transaction.commit.committer.xǁ_Attemptǁ__init__",
        "self._watch = watch",
        "self._watch = None",
    ): "called where rows are checked again, which tests/spark does",
    (
        "transaction.commit.committer.xǁ_Attemptǁ__init__",
        "self._made: dict[Callable[[], Written], Written] = {}",
    ): "for rows that Spark writes, which tests/spark does",
    (
        "transaction.commit.committer.xǁ_Attemptǁ_put",
        "self._in_doubt = False",
        "self._in_doubt = None",
    ): "None is as false",
    ("transaction.proposals.entry.x_proposes", "return function(asked, snapshot, circumstances)"): _AT_IMPORT,
    ("transaction.proposals.entry.x_proposes", "return ProposalEntry(intent, propose)"): _AT_IMPORT,
    (
        "transaction.proposals.move_column.x_move_column",
        'undo=f"Move it back: {position_text(before, names).lower() if not before else position_text(before, names)}.",',  # noqa: E501
        'undo=f"Move it back: {position_text(None, names).lower() if not before else position_text(before, names)}.",',
    ): "where this is said, the place is the first, whatever the names",
    (
        "transaction.proposals.move_column.x_move_column",
        'undo=f"Move it back: {position_text(before, names).lower() if not before else position_text(before, names)}.",',  # noqa: E501
        'undo=f"Move it back: {position_text(before, None).lower() if not before else position_text(before, names)}.",',
    ): "where this is said, the place is the first, whatever the names",
    (
        "transaction.commit.committer.xǁ_Attemptǁ_put",
        "owner = self._whose(path, version, plan.txn_id)",
        "owner = self._whose(path, None, plan.txn_id)",
    ): "the version is for the error of a commit that cannot be read",
    (
        "transaction.preparation.x__prepared",
        'raise InvalidIntent(f"There is already a table at {log.location}.", field="kind", table=log.location)',
        'raise InvalidIntent(f"There is already a table at {log.location}.", field="kind", table=None)',
    ): "an error that leaves a table is given its location where it has none",
    (
        "transaction.preparation.x__prepared",
        'raise InvalidIntent(f"There is already a table at {log.location}.", field="kind", table=log.location)',
        'raise InvalidIntent(f"There is already a table at {log.location}.", field="kind", )',
    ): "an error that leaves a table is given its location where it has none",
    (
        "compatibility.access.x__answers",
        "said = facts.statement(client, version, PROTOCOL, operation, listed=False)",
        "said = facts.statement(client, version, PROTOCOL, operation, listed=None)",
    ): "None is as false",
    (
        "compatibility.access.x__answers",
        'yield _Answer("unknown", name, origin.source, origin.as_of, stated=False)',
        'yield _Answer("unknown", name, origin.source, origin.as_of, stated=None)',
    ): "None is as false",
    (
        "compatibility.access.x__version_answer",
        'return _Answer("unknown", name, said.source, said.as_of, stated=False)',
        'return _Answer("unknown", name, said.source, said.as_of, stated=None)',
    ): "None is as false",
    (
        "compatibility.access.x__version_answer",
        'return _Answer("unknown", "", said.source, said.as_of)',
        'return _Answer("unknown", None, said.source, said.as_of)',
    ): "no name is no name, which is all that is asked of it",
    (
        "compatibility.access.x__version_answer",
        'return _Answer("yes", "", said.source, said.as_of)',
    ): "nobody asks for the name of what is met",
    (
        "compatibility.client_facts.xǁClientFactsǁstatement",
        "if feature not in self._named:",
        "if feature in self._named:",
    ): "what is not kept is searched for again, and is the same",
    (
        "compatibility.client_facts.xǁClientFactsǁstatement",
        "return self._search(client, version, feature, operation, when=when, listed=listed)",
        "return self._search(client, version, None, operation, when=when, listed=listed)",
    ): "no row names the feature that comes here, as none names None",
    (
        "compatibility.releases.x_client_named",
        'found = folded.get(wanted) or folded.get(_ALIASES.get(wanted, "").casefold())',
        'found = folded.get(wanted) or folded.get(_ALIASES.get(wanted, "XXXX").casefold())',
    ): "no client has either name",
    (
        "maintenance.folder_listing.x__with_owner",
        "return np.where(until == FOREVER, FOREVER, np.maximum(until, modified))",
        "return np.where(None, FOREVER, np.maximum(until, modified))",
    ): "FOREVER is the greatest of numbers, so the greater of two too",
    (
        "maintenance.vacuum_effects.x__inferred",
        'paths = life.take(rows, ["path"]).column(0).to_pylist()',
    ): "the first column of all is the path too",
    (
        "maintenance.vacuum_effects.x__removals",
        'paths = life.take(rows, ["path"]).column(0).to_pylist()',
    ): "the first column of all is the path too",
    (
        "maintenance.folder_listing.x_look_at_folder",
        "carried = log.on_segment(history.latest, lambda segment: carry_actions(log.store, segment))",
        "carried = log.on_segment(None, lambda segment: carry_actions(log.store, segment))",
    ): "the history is of the latest version",
    (
        "maintenance.folder_listing.x__files",
        '"needed_until": known_int64s(np.where(known, until, 0), known),',
        '"needed_until": known_int64s(np.where(known, until, 1), known),',
    ): "what stands under a null is not looked at",
    (
        "log.checkpoint.parquet_part.x__filtered",
        "first = int(keep.argmax()) if count else 0",
        "first = int(keep.argmax()) if count else 1",
    ): "no row at all may begin anywhere",
    (
        "versions.history.x__all_texts",
        "if kinds <= {str}:",
        "if kinds < {str}:",
    ): _SHORTCUT,
    (
        "versions.history.x__all_texts",
        "return cast(Sequence[dict[str, str | None] | None], values)",
        "return cast(None, values)",
    ): "a cast says something to the type checker alone",
    (
        "versions.settings_history.x__moves",
        "if fields != old.get(parent, fields):",
    ): "both versions have the columns that stayed, so their parents too",
    (
        "versions.settings_history.x__moves",
        "path = after.columns[fields[0]].path[:-1]",
    ): "siblings have one parent, and those in another order are at least two",
    (
        "versions.settings_history.x__moves",
        "if [each for each in before.columns if each in stayed] == [each for each in after.columns if each in stayed]:",
    ): "it saves a closer look, which finds the same",
    (
        "versions.retention.lasting.x_feed_lasting",
        "times, gone = np.full(life.last - first + 1, FOREVER), np.zeros(life.last - first + 1, bool)",
        "times, gone = np.full(life.last + first + 1, FOREVER), np.zeros(life.last - first + 1, bool)",
    ): _BEYOND,
    (
        "versions.retention.lasting.x_feed_lasting",
        "times, gone = np.full(life.last - first + 1, FOREVER), np.zeros(life.last - first + 1, bool)",
        "times, gone = np.full(life.last - first + 2, FOREVER), np.zeros(life.last - first + 1, bool)",
    ): _BEYOND,
    (
        "versions.retention.lasting.x_feed_lasting",
        "times, gone = np.full(life.last - first + 1, FOREVER), np.zeros(life.last - first + 1, bool)",
        "times, gone = np.full(life.last - first + 1, FOREVER), np.zeros(life.last + first + 1, bool)",
    ): _BEYOND,
    (
        "versions.retention.lasting.x_feed_lasting",
        "times, gone = np.full(life.last - first + 1, FOREVER), np.zeros(life.last - first + 1, bool)",
        "times, gone = np.full(life.last - first + 1, FOREVER), np.zeros(life.last - first + 2, bool)",
    ): _BEYOND,
    (
        "versions.settings_history.x__clustering",
        'paths = clustering_columns(schema, "none" if mode == "none" else "name", domains)',
        'paths = clustering_columns(schema, "none" if mode == "none" else "XXnameXX", domains)',
    ): "every mode but none goes by the physical names",
    (
        "versions.settings_history.x__clustering",
        'paths = clustering_columns(schema, "none" if mode == "none" else "name", domains)',
        'paths = clustering_columns(schema, "none" if mode == "none" else "NAME", domains)',
    ): "every mode but none goes by the physical names",
    (
        "versions.settings_history.x__clustering",
        'return ", ".join(map(format_column, paths)) or None, recorded if paths else None',
        'return ", ".join(map(format_column, paths)) or None, recorded if (paths) or True else None',
    ): "a text without columns is never a text with some, and between two without columns nothing is told",
    (
        "log.writing.file_action_columns.x__descriptors",
        "return pa.StructArray.from_arrays(arrays, fields=list(_VECTOR), mask=arrays[0].is_null())",
    ): "all of them pass _vectors, which makes a struct of nulls null",
    (
        "compatibility.access.x_stored_requirements",
        "state = replay_state(base, commits, segment.version)",
    ): _TOLD,
    (
        "versions.history_reader.xǁFirstReadableǁ_read",
        "state = replay_state(self._base, self._commits, self.segment.version)",
    ): _TOLD,
    (
        "log.checkpoint.reader.xǁCheckpointReaderǁ_files",
        "sources.append(self._part(part.path, part, kept=kept))",
    ): "what is kept changes no answer",
    (
        "log.checkpoint.reader.xǁCheckpointReaderǁ_files",
        "sources.extend(self._part(_path_of(sidecar), part, kept=kept) for sidecar in sidecars)",
    ): "what is kept changes no answer",
    (
        "log.checkpoint.reader.xǁCheckpointReaderǁ_json_lines",
        "lines = decode_commit(self._bytes(part), part.version, part.path).lines",
    ): "they are named in the error of a broken line alone",
    (
        "log.writing.writer_state.x__greatest_rows",
        "return [value if is_valid else None for value, is_valid in zip(found, valid, strict=True)]",
        "return [value if (is_valid) or True else None for value, is_valid in zip(found, valid, strict=True)]",
    ): "a field under a null is null in what a Parquet file gives",
    (
        "transaction.proposals.rewriting.recompute_statistics.x__same",
        'return {"tightBounds": True, **new} == {"tightBounds": True, **known}',
        'return {"tightBounds": False, **new} == {"tightBounds": True, **known}',
    ): "new statistics always say whether their bounds are tight",
    (
        "protocol.arrow.arrays.x_floats",
        "whole = one_array(counted.cast(pa.float64(), safe=False).chunks, pa.float64())",
    ): "the type matters where there is no chunk, of which nothing is taken",
    (
        "protocol.schema.type_widening.x_widens",
        'case (("byte" | "short" | "integer" | "long"), ("short" | "integer" | "long")):',
        'case (("byte" | "short" | "integer" | "XXlongXX"), ("short" | "integer" | "long")):',
    ): "no whole number is wider than a long",
    (
        "protocol.schema.type_widening.x_widens",
        'case (("byte" | "short" | "integer" | "long"), ("short" | "integer" | "long")):',
        'case (("byte" | "short" | "integer" | "LONG"), ("short" | "integer" | "long")):',
    ): "no whole number is wider than a long",
    (
        "protocol.schema.type_widening.x_widens",
        "return _WIDTHS[before.name] < _WIDTHS[after.name]",
    ): "types of one width are one type, which was answered before",
    ("protocol.sql.stored_expressions.x_unknown_columns", "names[path[0]] = None"): "nobody reads the value",
    ("protocol.sql.stored_expressions.x_unknown_columns", 'names[".".join(path)] = None'): "nobody reads the value",
    (
        "protocol.sql.vetting.x_check_text",
        'before = Token("end", "", 0)',
    ): "of what stands before the first word only that it is no word counts",
    (
        "protocol.statistics.json_statistics.x__cast_each",
        "found = [bound_value(value, leaf.type, upper=upper) for value in values]",
        "found = [bound_value(value, leaf.type, upper=None) for value in values]",
    ): "texts of days and times come here, which no cut raises",
    (
        "transaction.proposals.identity_columns.x_recorded_extreme",
        'name = "max" if rule.step > 0 else "min"',
        'name = "max" if rule.step >= 0 else "min"',
    ): _STEP,
    (
        "transaction.proposals.identity_columns.x_recorded_extreme",
        "return True, max(values) if rule.step > 0 else min(values)",
        "return True, max(values) if rule.step >= 0 else min(values)",
    ): _STEP,
    ("log.decoded_parts.x__together", "texts, size = list[_Text](), 0"): _PART_ENDS,
    (
        "log.decoded_parts.x__together",
        'end = length if length - start <= _PART else data.find(b"\\n", start + _PART) + 1 or length',
    ): _PART_ENDS,
    ("log.decoded_parts.x__together", "if texts and size + end - start > 2 * _PART:"): _PART_ENDS,
    ("log.decoded_parts.x__together", "texts, size = [], 0"): _PART_ENDS,
    ("log.decoded_parts.x__together", "size += end - start"): _PART_ENDS,
    ("log.decoded_parts.x__together", "if size >= _PART:"): _PART_ENDS,
    (
        "log.decoded_parts.x__together",
        "start = max(end, 1)",
        "start = max(end, 2)",
    ): "a file of one byte ends either way",
    (
        "versions.history_reader.xǁHistoryReaderǁ_take",
        "taken, size = taken + 1, size + piece.path.size",
        "taken, size = taken - 1, size + piece.path.size",
    ): "every two hundredth is told either way",
    ("versions.history_reader.xǁHistoryReaderǁ_take", "size = 0", "size = 1"): "one byte of many megabytes",
    (
        "log.commit.x_decode_plain_lines",
        "found = _plain_lines(_LINES, [data])",
        "found = None",
    ): _SHORTCUT,
    (
        "log.commit.x_decode_plain_lines",
        "return None if found is None else found[0]",
        "return None if (found is None) or True else found[0]",
    ): _SHORTCUT,
    (
        "log.line_shape.xǁ_Readingǁ_member",
        'return (*self._open[2:], self._name or "")',
        'return (*self._open[2:], self._name or "XXXX")',
    ): "no member that is asked for has either name",
    (
        "log.replay.x__read_lines",
        "if sum(sizes) > _BATCH_BYTES:",
        "if sum(sizes) >= _BATCH_BYTES:",
    ): "a commit of exactly so many bytes is decoded either way",
    (
        "versions.history_reader.xǁHistoryReaderǁ_take",
        "if stop - start == 1 and piece.last and not piece.before and is_provenance(found[start]):",
        "if stop + start == 1 and piece.last and not piece.before and is_provenance(found[start]):",
    ): _SHORTCUT,
    (
        "versions.history_reader.xǁHistoryReaderǁ_take",
        "plain.append((piece.path, found[start], of_line[start] - piece.start + 1))",
    ): "the number is of a line that cannot be decoded, and this one was checked to be JSON",
    (
        "log.commit.x__parts",
        "while piece := stream.read(_PART) + stream.readline():",
        "while piece := stream.read(None) + stream.readline():",
    ): _PART_ENDS,
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁtake",
        "removals = [(lines.removes, self._removals(lines.removed))] if lines.removed else []",
        "removals = [(lines.removes, self._removals(lines.removed))] if (lines.removed) or True else []",
    ): _SHORTCUT,
    (
        "versions.lifetimes.builder.xǁLifetimesBuilderǁtake",
        "files = [(lines.files, columns_of_lines(lines.added, self._codes))] if lines.added else []",
        "files = [(lines.files, columns_of_lines(lines.added, self._codes))] if (lines.added) or True else []",
    ): _SHORTCUT,
    (
        "versions.lifetimes.builder.x__in_range",
        "return np.where((times >= 0) & (times < _LATEST_TIME), times, 0)",
        "return np.where((times > 0) & (times < _LATEST_TIME), times, 0)",
    ): "a time of 0 is 0 either way",
    (
        "versions.lifetimes.builder.x__in_range",
        "return np.where((times >= 0) & (times < _LATEST_TIME), times, 0)",
        "return np.where((times >= 1) & (times < _LATEST_TIME), times, 0)",
    ): "a time of 0 is 0 either way",
}
"""(function, changed line), or these and what the line became -> why nobody could notice: the mutant is equivalent, or
what it changes is not promised."""

"""The classes of Spark's expressions that an analysed expression may be made of.

The second look at an expression: whatever its text hid from the first, the plan that Spark made of it shows.
Invariants: a class is named here only if it computes a value from values of one row; code, subqueries, other data,
functions of the session and everything that a later Spark brings are therefore refused.
"""

from __future__ import annotations

import json
from typing import Any, Final

_PACKAGE: Final = "org.apache.spark.sql.catalyst.expressions."
_METADATA: Final = '"__metadata_col"'


def _split(names: str) -> frozenset[str]:
    return frozenset(names.split())


EXPRESSION_CLASSES: Final = _split(
    """
    Abs Acos Acosh Add AddMonths AesDecrypt Alias And ArrayAggregate ArrayAppend ArrayCompact ArrayContains
    ArrayDistinct ArrayExcept ArrayExists ArrayFilter ArrayForAll ArrayInsert ArrayIntersect ArrayJoin ArrayMax
    ArrayMin ArrayPosition ArrayPrepend ArrayRemove ArrayRepeat ArraySize ArraySort ArrayTransform ArrayUnion
    ArraysOverlap ArraysZip Ascii Asin Asinh Atan Atan2 Atanh AttributeReference BRound Base64 Between Bin BinaryPad
    BinaryPredicate BitLength BitmapBitPosition BitmapBucketNumber BitmapCount BitwiseAnd BitwiseCount BitwiseGet
    BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Cbrt Ceil CheckOverflow Chr Coalesce Collate Collation
    CommonExpressionDef CommonExpressionRef Concat ConcatWs Contains Conv ConvertTimezone Cos Cosh Cot Crc32
    CreateArray CreateMap CreateNamedStruct Csc CsvToStructs CurrentCatalog CurrentDatabase CurrentDate CurrentPath
    CurrentTime CurrentTimeZone CurrentTimestamp CurrentUser DateAdd DateAddInterval DateAddYMInterval DateDiff
    DateFormatClass DateFromUnixDate DateSub DatetimeSub DayName DayOfMonth DayOfWeek DayOfYear Decode Divide
    DivideDTInterval DivideInterval DivideYMInterval ElementAt Elt Encode EndsWith EqualNull EqualNullSafe EqualTo
    EulerNumber Exp Expm1 Extract ExtractANSIIntervalDays ExtractANSIIntervalHours ExtractANSIIntervalMinutes
    ExtractANSIIntervalMonths ExtractANSIIntervalSeconds ExtractANSIIntervalYears ExtractIntervalDays
    ExtractIntervalHours ExtractIntervalMinutes ExtractIntervalMonths ExtractIntervalSeconds ExtractIntervalYears
    Factorial FindInSet Flatten Floor FormatNumber FormatString FromUTCTimestamp FromUnixTime Get GetArrayItem
    GetArrayStructFields GetJsonObject GetMapValue GetStructField GreaterThan GreaterThanOrEqual Greatest Hex Hour
    HoursOfTime Hypot ILike If In InitCap IntegralDivide IsNaN IsNotNull IsNull IsValidUTF8 IsValidVariant
    IsVariantNull JsonObjectKeys JsonToStructs KnownNotNull KnownNullable LambdaFunction LastDay Least Left Length
    LengthOfJsonArray LessThan LessThanOrEqual Levenshtein Like LikeAll LikeAny Literal LocalTimestamp Log Log10
    Log1p Log2 Logarithm Lower Luhncheck MakeDTInterval MakeDate MakeInterval MakeTime MakeTimestamp
    MakeTimestampFromDateTime MakeTimestampNTZ MakeValidUTF8 MakeYMInterval MapConcat MapContainsKey MapEntries
    MapFilter MapFromArrays MapFromEntries MapKeys MapValues MapZipWith Mask Md5 MicrosToTimestamp MillisToTimestamp
    Minute MinutesOfTime Month MonthName MonthsBetween Multiply MultiplyDTInterval MultiplyInterval
    MultiplyYMInterval Murmur3Hash NaNvl NamedLambdaVariable NextDay Not NotLikeAll NotLikeAny Now NullIf NullIfZero
    Nvl Nvl2 OctetLength Or Overlay ParseJson ParseToDate ParseToTimestamp ParseUrl Pi Pmod Pow Quarter Quote RLike
    RegExpCount RegExpExtract RegExpExtractAll RegExpInStr RegExpReplace RegExpSubStr Remainder ResolvedCollation
    Reverse Right Rint Round RoundCeil RoundFloor SchemaOfCsv SchemaOfJson SchemaOfVariant Sec Second
    SecondWithFraction SecondsOfTime SecondsOfTimeWithFraction SecondsToTimestamp Sentences Sequence Sha1 Sha2
    ShiftLeft ShiftRight ShiftRightUnsigned Signum Sin Sinh Size Slice SortArray SoundEx SparkVersion SplitPart Sqrt
    StartsWith StringDecode StringInstr StringLPad StringLocate StringRPad StringRepeat StringReplace StringSpace
    StringSplit StringToMap StringTranslate StringTrim StringTrimBoth StringTrimLeft StringTrimRight StructsToCsv
    StructsToJson StructsToXml Substring SubstringIndex Subtract SubtractDates SubtractTimes SubtractTimestamps Tan
    Tanh TimeAddInterval TimeBucket TimeDiff TimeFromMicros TimeFromMillis TimeFromSeconds TimeToMicros TimeToMillis
    TimeToSeconds TimeTrunc TimestampAdd TimestampAddInterval TimestampAddYMInterval TimestampDiff ToBinary
    ToCharacter ToDegrees ToNumber ToRadians ToTime ToUTCTimestamp ToUnixTimestamp ToVariantObject TransformKeys
    TransformValues TruncDate TruncTimestamp TryAdd TryAesDecrypt TryDivide TryElementAt TryEval TryMakeInterval
    TryMakeTimestamp TryMakeTimestampFromDateTime TryMod TryMultiply TryParseUrl TrySubtract TryToBinary TryToNumber
    TryUrlDecode TryValidateUTF8 TypeOf TypedNullLiteral UnBase64 UnaryMinus UnaryPositive Unhex UnixDate UnixMicros
    UnixMillis UnixSeconds UnixTimestamp UpdateFields Upper UrlDecode UrlEncode ValidateUTF8 VariantGet
    VectorCosineSimilarity VectorInnerProduct VectorL2Distance VectorNorm VectorNormalize WeekDay WeekOfYear
    WidthBucket With XxHash64 Year ZeroIfNull ZipWith
    """
)
"""Their names in Spark's package of expressions, or in the one of variants."""


def foreign_class(expression: Any) -> str | None:
    """Return the first class in an analysed expression that it may not contain, without its package; None without one.

    Args:
        expression: The expression, an object of the JVM.
    """
    tree = str(expression.toJSON())
    for node in json.loads(tree):
        name = str(node["class"])
        plain = name.removeprefix(_PACKAGE).removeprefix("variant.")
        if not name.startswith(_PACKAGE) or plain not in EXPRESSION_CLASSES:
            return name.rpartition(".")[2]
    # Where a row is stored is a column too, one that is hidden.
    return "FileSourceMetadataAttribute" if _METADATA in tree else None

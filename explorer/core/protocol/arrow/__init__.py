"""Arrow arrays and Parquet row groups, built and read without pandas.

In: Python values, NumPy arrays, Parquet files of the log.
Out: Arrow arrays of an exact type, NumPy views of them, tables of chosen columns.
Always: no value is rounded or becomes null. Every row group is read, whatever its statistics record.
Nothing here makes a Python object for each row on the way from file to column, or imports pandas.
"""

"""A table of one file with one row group, made in a process of its own: making it takes more memory than reading it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def main() -> None:
    """Write as many rows as the second argument says into the folder of the first one."""
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True)
    made = np.random.default_rng(1)
    names = pa.array([f"name {number}" for number in range(1_009)])
    columns = {
        "id": pa.array(np.arange(count)),
        "amount": pa.array(made.random(count)),
        "name": names.take(pa.array(made.integers(0, len(names), count))),
    }
    pq.write_table(pa.table(columns), folder / "rows-in-one-group.parquet", row_group_size=count)
    deltalake.convert_to_deltalake(folder)
    print(json.dumps({}))


if __name__ == "__main__":
    main()

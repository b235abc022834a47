"""Options that several commands share, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Table = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV or Parquet file.", show_default=False)]
Tables = Annotated[
    list[Path], typer.Argument(metavar="TABLE...", help="CSV or Parquet files.", show_default=False)
]
EngineName = Annotated[str, typer.Option("--engine", help="joblib or dask.")]
Scheduler = Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")]
Run = Annotated[
    Path, typer.Argument(metavar="RUN", help="Run folder written by `proxycal fit`.", show_default=False)
]
Outcome = Annotated[str | None, typer.Option(help="Column that may carry the reporting bias.")]
Proxies = Annotated[
    list[str] | None, typer.Option(help="Columns that see the content, never the report: a,b", metavar="A,B")
]
Environment = Annotated[
    list[str] | None, typer.Option(help="Columns that may drive content and bias: c,d", metavar="C,D")
]
Weights = Annotated[str | None, typer.Option(help="Column of observation weights.")]
Cluster = Annotated[str | None, typer.Option(help="Column of rows that belong together.")]
Id = Annotated[str | None, typer.Option("--id", help="Column that names the rows.")]
Truth = Annotated[str | None, typer.Option(help="Column of true values of the rows that were validated.")]
Direction = Annotated[str | None, typer.Option(help="over or under: which way reports are biased.")]
Method = Annotated[str | None, typer.Option(help="exact, paper or moments.")]
Effect = Annotated[str | None, typer.Option(help="constant, linear or by:COLUMN.")]
Level = Annotated[float | None, typer.Option(help="Level of the intervals, such as 0.95.")]
Missing = Annotated[str | None, typer.Option(help="raise, drop or impute rows with missing values.")]
Seed = Annotated[int | None, typer.Option(help="Same seed, same bytes.")]
Jobs = Annotated[int | None, typer.Option(help="Processes to use; the answer does not depend on it.")]
Workers = Annotated[
    int | None,
    typer.Option("--jobs", help="Processes to use; all cores if not given."),
]
Config = Annotated[Path | None, typer.Option(help="TOML file with defaults for these options.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

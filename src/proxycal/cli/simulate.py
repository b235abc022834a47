"""`proxycal simulate`: a table with a known bias."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Seed

if TYPE_CHECKING:
    from proxycal.testing.simulation import Direction, Noise


def simulate(
    out: Annotated[Path, typer.Option(help="CSV or Parquet file to write.", metavar="FILE")],
    n: Annotated[int, typer.Option(help="Number of rows.")] = 1000,
    alpha: Annotated[float, typer.Option(help="Size of the bias.")] = 5.0,
    d_z: Annotated[int, typer.Option(help="Dimensions of the content.")] = 5,
    d_e: Annotated[int, typer.Option(help="Number of environment columns.")] = 10,
    n_proxies: Annotated[int, typer.Option(help="Number of proxy columns.")] = 5,
    noise: Annotated[str, typer.Option(help="gaussian or poisson.")] = "gaussian",
    direction: Annotated[str, typer.Option(help="over or under.")] = "over",
    seed: Seed = 0,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Write a table with a known bias, and its truth in a second file."""
    import proxycal
    from proxycal.files import kind_of, write_table
    from proxycal.settings import Settings
    from proxycal.store import check_output

    first, dot, ending = out.name.partition(".")
    truth = out.with_name(f"{first}.truth{dot}{ending}")
    for path in (out, truth):
        kind_of(path)
        check_output(path)
    sim = proxycal.simulate(
        n=n,
        d_z=d_z,
        d_e=d_e,
        n_proxies=n_proxies,
        alpha=alpha,
        noise=cast("Noise", noise),
        random_state=seed,
        direction=cast("Direction", direction),
    )
    write_table(sim.truth, truth)
    write_table(sim.table, out)
    if json_output:
        facts = {"table": str(out), "truth": str(truth), "rows": n}
        console.print_json({**facts, "roles": sim.roles.to_dict()})
    elif not quiet:
        console.say(f"table:  {out}", f"truth:  {truth}")
        console.say_next(console.fit_command(out, sim.roles, Settings(direction=direction)))

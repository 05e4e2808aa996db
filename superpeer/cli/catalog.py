"""`superpeer catalog`: statistics over whole catalogues, on Spark.

Everything heavy is imported inside the commands, Spark above all: no other command pays for it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superpeer.cli.choosing import JsonOption
from superpeer.cli.output import print_json
from superpeer.errors import is_user_error

if TYPE_CHECKING:
    from superpeer.catalog.progress import Steps

app = typer.Typer(
    name="catalog",
    help="Profile large RDF catalogues, and see what subscriptions would match and cover, on Spark.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DataArgument = Annotated[
    list[str],
    typer.Argument(metavar="DATA...", help="RDF files or directories of them, plain or packed (.gz, .bz2, .zst)."),
]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where tables and the report go.")]
SubscriptionsOption = Annotated[
    list[str],
    typer.Option(
        "--subscriptions",
        metavar="FILE",
        help="Files of subscriptions: .qel has one query, any other a query on each line. May be repeated.",
    ),
]
MasterOption = Annotated[
    str | None, typer.Option(metavar="URL", help="The Spark master; all cores of this machine if not given.")
]
ConfOption = Annotated[
    list[str] | None, typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark; may be repeated.")
]


@app.command()
def profile(
    data: DataArgument,
    out: OutOption,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Estimate distinct values with HyperLogLog where there are many.")
    ] = False,
    budget: Annotated[
        int, typer.Option(metavar="BYTES", help="How large the values in the recommended advertisement may be.")
    ] = 16_384,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on as files arrive in DATA, a directory, until interrupted.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="With --follow: stop when all that is there is read.")] = False,
    as_json: JsonOption = False,
    master: MasterOption = None,
    conf: ConfOption = None,
) -> None:
    """Say what is in a catalogue, and what to advertise.

    superpeer catalog profile catalogue.nt.gz --out profile
    """
    from superpeer.catalog import outputs
    from superpeer.catalog.following import follow_directory, require_directory
    from superpeer.catalog.ingest import require_input
    from superpeer.catalog.profiling import Profiled, profile_files, require_triples

    if budget < 0:
        raise typer.BadParameter("--budget is a number of bytes, 0 or more")
    if once and not follow:
        raise typer.BadParameter("--once goes with --follow")
    if follow:
        require_directory(data, out)
    else:
        require_input(data, out)
    outputs.prepare(out)

    def say(done: Profiled) -> None:
        found, manifest = done.profile, done.catalogue.manifest
        if as_json:
            summary = {
                "triples": found.triples,
                "resources": found.resources,
                "properties": len(found.properties),
                "rejected": manifest.rejected,
                "files": _files(out, "profile.json", "advertisement.json", "report.html"),
            }
            # Whoever follows reads a line for each profile.
            print_json(summary, indent=None if follow else 2)
            return
        print(
            f"{found.triples:,} triples of {found.resources:,} resources with {len(found.properties):,} properties;"
            f" {manifest.rejected:,} rejected"
        )
        print(f"report: {out / 'report.html'}")
        print(f"advertisement: {out / 'advertisement.json'}")

    with _spark(master, conf) as (spark, steps):
        if follow:
            follow_directory(
                spark, data, out, approximate=approximate, budget_bytes=budget, once=once, tell=say, steps=steps
            )
        else:
            done = profile_files(spark, data, out, approximate=approximate, budget_bytes=budget, steps=steps)
            say(done)
            require_triples(done)


@app.command()
def coverage(
    data: DataArgument,
    subscriptions: SubscriptionsOption,
    out: OutOption,
    as_json: JsonOption = False,
    master: MasterOption = None,
    conf: ConfOption = None,
) -> None:
    """Say who would have been notified of what, and what each level of advertising forwards for nothing.

    Each DATA is a peer, with the advertisement that its data calls for.

    superpeer catalog coverage catalogue.nt.gz --subscriptions subscriptions.txt --out coverage
    """
    from superpeer.catalog import outputs
    from superpeer.catalog.covering import cover_files
    from superpeer.catalog.ingest import require_input
    from superpeer.catalog.subscriptions import require_files

    for path in data:
        require_input([path], out)
    require_files(subscriptions)
    outputs.prepare(out)
    with _spark(master, conf) as (spark, steps):
        found = cover_files(spark, data, subscriptions, out, steps)
    if as_json:
        print_json(asdict(found) | {"files": _files(out, "coverage.json", "report.html")})
        return
    print(
        f"{found.matched:,} of {found.distinct:,} subscriptions match something;"
        f" {found.resources_matched:,} of {found.resources:,} resources match; {found.rejected:,} rejected"
    )
    for row in found.routing:
        print(
            f"{row.peer:<20} {row.level:<12} {row.forwarded:>10,} forwarded {row.needless:>10,} for nothing"
            f" {row.missed:>6,} missed"
        )
    print(f"report: {out / 'report.html'}")


@app.command()
def poset(
    subscriptions: SubscriptionsOption,
    out: OutOption,
    as_json: JsonOption = False,
    master: MasterOption = None,
    conf: ConfOption = None,
) -> None:
    """Say what the poset of subscriptions looks like, and what covering keeps off the wire.

    superpeer catalog poset --subscriptions subscriptions.txt --out poset
    """
    from superpeer.catalog import outputs
    from superpeer.catalog.posets import poset_of_files
    from superpeer.catalog.subscriptions import require_files

    require_files(subscriptions)
    outputs.prepare(out)
    with _spark(master, conf) as (spark, steps):
        found = poset_of_files(spark, subscriptions, out, steps)
    if as_json:
        print_json(asdict(found) | {"files": _files(out, "poset.json", "poset.svg", "report.html")})
        return
    print(
        f"{found.asked:,} subscriptions, {found.places:,} places, {found.roots:,} roots:"
        f" covering keeps {100 * found.kept_off:.1f} % off the wire"
    )
    print(f"longest chain {found.depth + 1:,}, width {found.width:,}, {found.components:,} components")
    print(f"report: {out / 'report.html'}")


@app.command()
def convert(
    data: DataArgument,
    out: OutOption,
    as_json: JsonOption = False,
    master: MasterOption = None,
    conf: ConfOption = None,
) -> None:
    """Read RDF into Parquet once, so that other commands need not: they take the directory as DATA.

    superpeer catalog convert dump/ --out catalogue
    """
    from superpeer.catalog import outputs
    from superpeer.catalog.ingest import convert as convert_files
    from superpeer.catalog.ingest import require_input

    require_input(data, out)
    outputs.prepare(out)
    with _spark(master, conf) as (spark, steps):
        manifest = convert_files(spark, data, str(out), steps).manifest
    if as_json:
        numbers = ("read", "triples", "repeated", "rejected")
        print_json({name: getattr(manifest, name) for name in numbers} | {"files": [str(out)]})
        return
    print(f"{manifest.triples:,} triples, {manifest.repeated:,} more came again, {manifest.rejected:,} rejected")


def _files(directory: Path, *names: str) -> list[str]:
    return [str(directory / name) for name in names]


@contextmanager
def _spark(master: str | None, conf: list[str] | None) -> "Iterator[tuple[Any, Steps]]":
    from superpeer.catalog.progress import following
    from superpeer.catalog.session import SparkFailed, is_refused_setting, java_said, parse_settings, reason_of, start

    spark = start(master, parse_settings(conf or []))
    try:
        with following(spark) as steps:
            yield spark, steps
    except Exception as error:
        if is_refused_setting(error):
            raise SparkFailed(f"Spark refuses a setting: {reason_of(error)}") from None
        if not is_user_error(error):
            print(java_said(), file=sys.stderr)
        raise
    finally:
        spark.stop()

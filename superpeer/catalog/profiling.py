"""`superpeer catalog profile`: from files to a directory with the profile, the advertisement and the report.

properties.parquet, top_values.parquet, few_values.parquet, pairs.parquet     see `superpeer.catalog.profile`
profile.json          all of it in one file, and the advertisements of all levels
advertisement.json    the recommended advertisement, for `superpeer advertise --from`
void.ttl              a VoID description
report.html           for people
catalogue/            the parsed catalogue, see `superpeer.catalog.catalogue`; `rejected` is below it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import to_builtins

from superpeer.advertising import write_advertisement
from superpeer.catalog import outputs, void
from superpeer.catalog.advertising import BUDGET_BYTES, Advice, advise
from superpeer.catalog.catalogue import Catalogue
from superpeer.catalog.ingest import convert
from superpeer.catalog.inputs import UnreadableCatalogue
from superpeer.catalog.profile import Pair, Profile, Property, TopValue
from superpeer.catalog.profile_report import write_report
from superpeer.catalog.progress import SILENT, Steps

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CACHE = "catalogue"
SHOWN_REASONS = 10


@dataclass(frozen=True)
class Profiled:
    """What was found, and where it is."""

    directory: Path
    catalogue: Catalogue
    profile: Profile
    advice: Advice


def profile_files(
    spark: SparkSession,
    paths: Sequence[str],
    directory: Path,
    *,
    name: str = "",
    approximate: bool = False,
    budget_bytes: int = BUDGET_BYTES,
    steps: Steps = SILENT,
) -> Profiled:
    outputs.prepare(directory)
    catalogue = convert(spark, paths, str(directory / CACHE), steps, approximate)
    found = catalogue.profile()
    advice = advise(found, budget_bytes)
    steps.say("writing the report")
    done = Profiled(directory, catalogue, found, advice)
    write(spark, done, name or ", ".join(Path(path).name for path in paths))
    return done


def require_triples(done: Profiled) -> None:
    """Complains of a catalogue in which nothing is said of anything that has a URI. Its report says what there is."""
    manifest = done.catalogue.manifest
    if manifest.triples == 0:
        raise UnreadableCatalogue(
            f"there is nothing to publish: of {manifest.read:,} triples none has an IRI as subject, and"
            f" {manifest.rejected:,} lines or documents were rejected; {done.directory / 'report.html'} says why"
        )


def write(spark: SparkSession, done: Profiled, name: str) -> None:
    directory, found = done.directory, done.profile
    outputs.write_table(directory, "properties", Property, found.properties)
    outputs.write_table(directory, "top_values", TopValue, found.top_values)
    outputs.write_table(directory, "few_values", TopValue, found.few_values)
    outputs.write_table(directory, "pairs", Pair, found.pairs)
    manifest = asdict(done.catalogue.manifest)
    data = {
        "catalogue": {
            key: manifest[key] for key in ("read", "triples", "rejected", "undecided", "repeated", "anonymous")
        },
        "resources": found.resources,
        "schemas": [{"schema": a, "properties_and_classes": b, "triples": c} for a, b, c in found.schemas],
        "classes": [{"class": a, "resources": b} for a, b in found.classes],
        "properties": [asdict(one) for one in found.properties],
        "top_values": [asdict(one) for one in found.top_values],
        "shapes": [{"properties": a, "resources": b} for a, b in found.shapes],
        "advertisements": {
            level: to_builtins(write_advertisement(one)) for level, one in done.advice.advertisements.items()
        },
        "choices": [asdict(one) for one in done.advice.choices],
    }
    outputs.write_json(directory / "profile.json", data)
    recommended = write_advertisement(done.advice.advertisements["recommended"])
    outputs.write_json(directory / "advertisement.json", to_builtins(recommended))
    (directory / "void.ttl").write_text(void.describe(found), encoding="utf-8")
    reasons = rejected_reasons(spark, done.catalogue)
    report = write_report(name, found, done.advice, done.catalogue.manifest, reasons)
    (directory / "report.html").write_text(report, encoding="utf-8")


def rejected_reasons(spark: SparkSession, catalogue: Catalogue) -> list[tuple[str, int]]:
    """Why something was rejected, what is specific to each left out, with how often."""
    from pyspark.sql import functions as f

    if not catalogue.manifest.rejected:
        return []
    reason = f.regexp_replace("reason", "<[^>]*>|'[^']*'|\"[^\"]*\"", "…")
    rows = (
        catalogue.rejected(spark)
        .groupBy(reason.alias("reason"))
        .agg(f.count("*").alias("n"))
        .orderBy(f.col("n").desc(), "reason")
        .limit(SHOWN_REASONS)
        .collect()
    )
    return [(row["reason"], row["n"]) for row in rows]

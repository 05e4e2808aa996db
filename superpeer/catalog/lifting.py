"""The names of blank nodes put in their place, for a whole catalogue: the rule of `superpeer.rdf.lifting` as joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from superpeer.catalog.columns import BLANK, LITERAL
from superpeer.rdf.lifting import MAX_DEPTH, MEMBER, NAMES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def lifted(nested: DataFrame) -> DataFrame:
    """Of the triples with a blank node, those that have a URI as subject, with names in the place of blank objects."""
    from pyspark.sql import functions as f

    uses = nested.where(~f.col("subject_blank"))
    names = _names(nested)
    found = uses.alias("use").join(names.alias("name"), f.col("use.object") == f.col("name.node"), "left")
    return found.select(
        "use.subject",
        "use.subject_blank",
        "use.predicate",
        *(
            f.coalesce(f.col(f"name.{column}"), f.col(f"use.{column}")).alias(column)
            for column in ("object", "kind", "language", "datatype")
        ),
    ).dropDuplicates()


def count_anonymous(nested: DataFrame) -> int:
    """How many blank subjects are spoken for by nobody: they have no name, or nobody refers to them."""
    from pyspark.sql import functions as f

    subjects = nested.where(f.col("subject_blank")).select(f.col("subject").alias("node")).distinct()
    referred = nested.where(f.col("kind") == BLANK).select(f.col("object").alias("node")).distinct()
    spoken_for = _names(nested).select("node").distinct().join(referred, "node", "left_semi")
    return subjects.join(spoken_for, "node", "left_anti").count()


def _names(nested: DataFrame) -> DataFrame:
    """(node, object, kind, language, datatype): the literals that stand for each node, also through a second one."""
    from pyspark.sql import functions as f

    assert MAX_DEPTH == 2
    naming = nested.where(
        f.col("subject_blank") & (f.col("predicate").isin(*NAMES) | f.col("predicate").rlike(f"^(?:{MEMBER})$"))
    )
    columns = [f.col(name) for name in ("object", "kind", "language", "datatype")]
    own = naming.where(f.col("kind") == LITERAL).select(f.col("subject").alias("node"), *columns)
    through = naming.where(f.col("kind") == BLANK).select(
        f.col("subject").alias("outer"), f.col("object").alias("node")
    )
    further = through.join(own, "node").select(f.col("outer").alias("node"), *columns)
    return own.unionByName(further).dropDuplicates()

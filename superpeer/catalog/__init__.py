"""Catalogues at scale: what runs on Spark, and the Java it runs on. Only this package imports pyspark."""

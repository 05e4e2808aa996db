"""The matcher: an index over all subscriptions that a super-peer knows. The poset explains; the matcher runs.

The way of a subscription: its disjuncts (`qel.normal`) -> `conditions`: each slot as a range or a keyed test ->
`slots`: the distinct tests -> `records`: a disjunct as the numbers of its tests and its ranges -> `clusters`, under its
most selective test, or `segments`, where it has none. The way of a notification: `reading` and `meeting`: the tests
that its values meet and its numbers -> `kernels` (`plain` without a compiler): the records of the clusters of these
tests, the segments -> `matcher`.

Compiling takes a quarter of a minute the first time (`warming` does it beforehand), and importing the compiler a third
of a second: `Matcher` is imported from `superpeer.matching.matcher` by whoever runs one.
"""

"""Explore a network as in a notebook: what follows a `# %%` is a cell, and editors run them one by one."""

# %% A network to play with. With your own, leave this out and use its HOST:PORT#KEY.
from contextlib import ExitStack
from pathlib import Path

from rdflib import DC, Graph

from superpeer import SyncPeer
from superpeer.demo.backbone import local_backbone

HERE = Path(__file__).parent
open_things = ExitStack()
backbone = open_things.enter_context(local_backbone(1))
crete = open_things.enter_context(SyncPeer.open(backbone.directory / "crete", backbone[0].contact))
me = open_things.enter_context(SyncPeer.open(backbone.directory / "me", backbone[0].contact))

# %% Somebody publishes.
crete.advertise_file(HERE / "data" / "crete.nt", ["schemas"])
crete.publish(HERE / "data" / "crete.nt").acknowledged()

# %% What do others hold now? A one-time query.
found = me.query('X : t(X, dc:creator, Y) & Y contains "Koubarakis"')
graph = Graph()
for answer in found:
    for triple in answer.triples:
        graph.add(triple)
for title in sorted(graph.objects(None, DC.title)):
    print(title)

# %% The same as a subscription, with what was published before.
me.subscribe('X : t(X, dc:creator, Y) & Y contains "Koubarakis"', "koubarakis", since=0).active()
history = list(me.notifications(timeout=2))
print(len(history), "notifications of what was published before")

# %% The end.
open_things.close()
assert {one.subject for one in history} == {answer.subject for answer in found}
print("Both ways find the same.")

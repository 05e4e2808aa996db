"""An admin looks at the subscriptions of a super-peer: who asked, where each was forwarded, and what hides it.

This is what `superpeer poset` and `superpeer explain` do.
"""

import asyncio
from pathlib import Path

from superpeer import SyncPeer
from superpeer.daemon.admin import AdminClient
from superpeer.daemon.admin_messages import ExplainSubscription, ShowPoset
from superpeer.demo.backbone import local_backbone

GENERAL = "X : t(X, dc:date, D) & D >= 2000"
SPECIAL = 'X : t(X, dc:date, D) & t(X, dc:creator, Y) & D = 2004 & Y contains "Nejdl"'


async def inspect(socket: Path, reader: str) -> None:
    async with await AdminClient.local(socket) as admin:
        poset = await admin.ask(ShowPoset())
        for place in poset["places"]:
            print("    " * place["depth"] + place["query"])
            print(
                "    " * place["depth"] + f"  asked by {place['asked_by']}, hidden by {place['hidden_by'] or 'nobody'}"
            )
        told = await admin.ask(ExplainSubscription(reader, "special"))
    assert [place["depth"] for place in poset["places"]] == [0, 1]
    assert told["links"]
    assert not any(link["is_forwarded"] for link in told["links"])


with (
    local_backbone(2) as backbone,
    SyncPeer.open(backbone.directory / "library", backbone[0].contact) as library,
    SyncPeer.open(backbone.directory / "reader", backbone[1].contact) as reader,
):
    library.advertise(schemas=["dc"])
    for name, query in (("general", GENERAL), ("special", SPECIAL)):
        reader.subscribe(query, name).active()
    asyncio.run(inspect(backbone[1].socket, reader.id))
print("The special one did not travel: the general one covers it.")

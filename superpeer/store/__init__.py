"""The disk of a super-peer.

**What is where.** A store is a directory of mode 0700 that belongs to one super-peer:

    superpeer.db       the database (SQLite): membership, registrations, subscriptions, advertisements, the log of
                       publications with what is not acknowledged, queues with their marks, rendezvous, settings
    superpeer.db-wal   the end of the database while a super-peer runs, and after a crash. It belongs to it: never
                       remove it, never copy one without the other
    files/             rendezvous files that wait for a peer, each named by the digest of its content
    lock               held while a super-peer runs, so that no second one uses the directory

The directory has to be on a local disk. The key of the super-peer is not in it, only its path.

**What is promised.** What a super-peer has acknowledged is on the disk: every commit is forced to it, one for all that
arrived during the one before. After a crash of the process nothing of it is missing. After the loss of power nothing
is missing either, if the disk tells the truth about what it has written; what was under way is there whole or not at
all. When the disk is full or fails, the super-peer says so and stops accepting; free space or repair it, and start
it again: nothing that it acknowledged is lost.

**What to back up.** The whole directory, with `Store.backup(path)` (`Writer.backup` in a running super-peer): it makes
another directory that can be used in place of the first. The super-peer goes on, and what is published meanwhile waits
some seconds for each gigabyte. Copying the files by hand is safe only while no super-peer runs. Keep the key file with
the backup. A store from a backup is older than what peers and other super-peers have seen, so numbers of its log
would be given twice: put in place not the backup but what `recover(backup, target, is_backup=True)` makes of it, which
begins a new log.

**What is checked.** At every start SQLite's `integrity_check` reads all pages (about two seconds for a gigabyte that
the system has in memory; the speed of the disk decides otherwise), and loading verifies a checksum on every row and
every file, so that a flipped bit is damage and not news. The write-ahead log is checked for commits that
SQLite would pass over in silence. Only in the last commit before a crash damage cannot be told from a commit that
was never finished.

**When it is damaged.** The super-peer does not start, and says what it found. Restore a backup; or save what can be
read: `recover(path, target)` leaves the damaged store as it is, makes a new one and reports what was lost. The new
one has a new generation of the log: other super-peers ask for what they lack of it, and peers are told how much is gone
for good. If the old disk fails, copy it elsewhere first.
"""

from superpeer.store.changes import Change, EntryDropped, Setting
from superpeer.store.errors import (
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreExists,
    StoreExposed,
    StoreFailed,
    StoreForeign,
    StoreLocked,
    StoreNewer,
    StoreUnusable,
)
from superpeer.store.recovery import Recovery, recover
from superpeer.store.store import Store
from superpeer.store.writer import Writer

__all__ = [
    "Change",
    "EntryDropped",
    "Recovery",
    "Setting",
    "Store",
    "StoreBusy",
    "StoreClosed",
    "StoreDamaged",
    "StoreError",
    "StoreExists",
    "StoreExposed",
    "StoreFailed",
    "StoreForeign",
    "StoreLocked",
    "StoreNewer",
    "StoreUnusable",
    "Writer",
    "recover",
]

"""Where the wall clock is read, and why that is right there. It jumps (NTP, a host that was suspended), and every machine has its own: how long
something took is asked of the steady clock, which of two objects is older of the store's revisions. Whoever needs the wall clock has a row here.

What objects say of times and durations is reckoned with only after it was bounded (Timestamp::on_clock, bounded_seconds in src/base/)."""
import re
import unittest

import repository

FOLDERS = ("src/auth/", "src/controllers/", "src/engine/", "src/guests/", "src/handler/", "src/housekeeping/", "src/simulated/")
READ = re.compile(r"\bwall_now\(|\bsystem_clock::now\(")
# By file: how often, and what for.
READERS = {
    "src/auth/reviews.cpp": (2, "creationTimestamp of a review; how long a token is good, which is a time of the token"),
    "src/engine/carry_out.cpp": (2, "times of events; a number that names of events begin with"),
    "src/engine/engine.cpp": (2, "Turn::now, for what is written"),
    "src/engine/index.cpp": (1, "whether the heartbeat of a node that was not known is worth anything; that only delays placements"),
    "src/handler/server/disk_copies.cpp": (1, "creation time of a copy, which is shown"),
    "src/handler/server/stats.cpp": (1, "the time that a sample names"),
    "src/handler/sync/downward_metrics.cpp": (1, "the time that a guest is told"),
    "src/handler/sync/event_writer.cpp": (1, "times of events"),
    "src/handler/sync/guest_loop.cpp": (1, "times that a status names; what is waited for is reckoned with Case::steady"),
    "src/handler/sync/node_keeper.cpp": (1, "the heartbeat's text; that it changes is what counts"),
    "src/housekeeping/controllers.cpp": (1, "deletionTimestamp"),
    "src/simulated/link.cpp": (1, "times that a status names"),
    "src/simulated/simulated.cpp": (1, "the heartbeat's text; that it changes is what counts"),
}
# What a controller compares its wall time with. The object's own reader wrote it, on this machine.
COMPARES = re.compile(r"(?:\bnow|turn\.now)\s*(?:[<>]=?|-)\s|(?:[<>]=?|-)\s(?:work\.|draft\.|row\.|guest\.draft\.)?(?:turn\.)?now\b|(?:from|unix_seconds)\((?:work\.)?(?:turn\.)?now\)")
COMPARERS = {
    "src/controllers/copies/writing.cpp": "when to look again; the time itself is a calendar's (the end of an export, the deadline of a snapshot)",
    "src/controllers/exports/export.cpp": "ttlExpirationTime, which is shown to users as a time",
    "src/controllers/migration/act.cpp": "how long a placement waits for a node; a step forward ends it early, as upstream's",
    "src/controllers/migration/history.cpp": "back-off, kept in objects over restarts; never longer than it can be",
    "src/controllers/migration/status.cpp": "a timeout that begins with the object's creation; a step forward ends it early, as upstream's",
    "src/controllers/node/node.cpp": "the steady clock",
    "src/controllers/nodes.cpp": "the steady clock",
    "src/controllers/nodes.h": "the steady clock",
    "src/controllers/pool/update.cpp": "since when a VM is not ready, kept in objects over restarts",
    "src/controllers/restore/running.cpp": "a timeout that begins with the object's creation; a step forward ends it early, as upstream's",
    "src/controllers/restore/volumes.cpp": "a pause after a failure; a clock that was set back ends it",
    "src/controllers/snapshot/content.cpp": "a pause after a failure; a clock that was set back ends it",
    "src/controllers/snapshot/state.cpp": "failureDeadline, of the API",
    "src/controllers/storage/claim.cpp": "how old a claim's complaints are; only what is told depends on it",
    "src/controllers/storage/facts.cpp": "a pause after a failure, never longer than it can be",
    "src/controllers/storage/import_cron_source.cpp": "a schedule, which is a calendar's",
    "src/controllers/vm/machine.cpp": "whether a VMI migrates, as the specification has it",
    "src/controllers/vm/run.cpp": "back-off, kept in objects over restarts; never longer than it can be",
    "src/controllers/vmi/network.cpp": "a grace period that begins with a condition; a step forward ends it early",
    "src/controllers/workload_update/workload_update.cpp": "a pause between batches, never longer than it can be",
    "src/guests/decide.cpp": "the steady clock",
    "src/simulated/guest.cpp": "simulated: when file systems are thawed",
    "src/simulated/node.cpp": "simulated: when the next heartbeat is due; one that is too far ahead is due now",
    "src/simulated/stats.cpp": "simulated: figures that grow with a VMI's age",
    "src/simulated/waiting.h": "simulated: never longer than it can be",
}
UNBOUNDED = re.compile(r"\bTime\((?:std::chrono::)?seconds\(|\btime_point\((?:std::chrono::)?seconds\(")


def sources():
    for name in repository.names():
        if name.startswith(FOLDERS) and name.endswith((".cpp", ".h")) and not re.search(r"_test\.cpp$|testing|test_support", name):
            yield name, re.sub(r"//[^\n]*", "", repository.read(name))


class WallClock(unittest.TestCase):
    def test_whoever_reads_it_says_why(self):
        found = {name: len(READ.findall(text)) for name, text in sources() if READ.search(text)}
        self.assertEqual(found, {name: count for name, (count, _) in READERS.items()},
                         "use the steady clock (Clock::steady_now, Turn::steady), or add a row with the reason")

    def test_whoever_compares_with_it_says_why(self):
        found = {name for name, text in sources() if name.startswith(("src/controllers/", "src/guests/", "src/simulated/")) and COMPARES.search(text)}
        self.assertEqual(sorted(found - set(COMPARERS)), [], "use turn.steady or World::creation_order, or add a row with the reason")
        self.assertEqual(sorted(set(COMPARERS) - found), [], "these rows are needless")

    def test_times_of_objects_are_bounded(self):
        found = [name for name, text in sources() if UNBOUNDED.search(text)]
        self.assertEqual(found, [], "use Timestamp::on_clock()")


if __name__ == "__main__":
    unittest.main()

"""Whether a recorded history of requests can have happened on a store that does one thing after another.

Kubernetes gives every change a resource version from one counter, so the order of changes is known: the watches tell it.
What remains is to hold every answer against it. An answer is right if the store could have been in the state that it tells
at a moment between the request and the answer; a change that was answered is there, with its version and its content, made
from the state right before it; one that was refused is nowhere; one without an answer is there once or not at all.
All in O(n log n).
"""
import bisect
import collections

# One request. `token` is unique and part of what a write writes. Times are of one steady clock, in ns.
# code: of the answer; None where none came, or one that says that the outcome is unknown.
# version: that of the object in the answer (of the list, for a list); content: its data (of a list: {key: (version, data)}).
# uid: of the object in the answer. asked_version: the precondition that was sent, if any.
Request = collections.namedtuple("Request", "verb key token began ended code version content uid asked_version")
# One event of a watch: content is None for a deletion.
Event = collections.namedtuple("Event", "version key content uid")

WRITES = {"create", "replace", "patch", "apply", "delete"}
REFUSED_FOR_NOW = {429, 503}


class Versions:
    """The states of one key in their order: state i holds from versions[i] until versions[i + 1]."""

    def __init__(self):
        self.versions, self.contents = [0], [None]

    def add(self, version, content):
        self.versions.append(version)
        self.contents.append(content)

    def at(self, version):
        """Index of the state that held right after that version."""
        return bisect.bisect_right(self.versions, version) - 1


class Deletions:
    """Which request deleted what. The answer to a deletion tells no version, but the uid of what was deleted."""

    def __init__(self, requests):
        self.by_uid = {request.uid: request for request in requests if request.verb == "delete" and request.code == 200}
        self.unanswered = collections.defaultdict(list)
        # In the order in which they began: whichever of them it was, no change is held to be later than it can have been.
        for request in sorted(requests, key=lambda one: one.began):
            if request.verb == "delete" and request.code is None:
                self.unanswered[request.key].append(request)

    def of(self, event):
        answered = self.by_uid.get(event.uid)
        if answered or not self.unanswered[event.key]:
            return answered
        return self.unanswered[event.key].pop(0)


class Checker:
    def __init__(self, requests, watches, sent):
        """`sent`: token -> the data that the request with it sent."""
        self.requests, self.watches, self.sent = requests, watches, sent
        self.findings = []

    def find(self, what, *details):
        self.findings.append(what + ": " + ", ".join(map(str, details)))

    def run(self):
        self.read_watches()
        self.match_writes()
        self.read_clock()
        for version, maker in self.maker.items():
            if maker.code is not None and version <= self.floor(maker.began):
                self.find("a write before one that had ended when it began", maker, version, self.floor(maker.began))
        for request in self.requests:
            self.check_answer(request)
        self.check_lists()
        return self.findings

    # --- the order of changes, as the watches tell it

    def read_watches(self):
        self.keys = collections.defaultdict(Versions)
        longest = max(self.watches, key=len)
        for number, events in enumerate(self.watches):
            for one, next_one in zip(events, events[1:]):
                if next_one.version <= one.version:
                    self.find("a watch repeats or goes back", number, one, next_one)
            if events != longest[:len(events)]:
                odd = next((pair for pair in zip(events, longest) if pair[0] != pair[1]), None)
                self.find("two watches tell different things", number, odd)
        self.events = {event.version: event for event in longest}
        for event in longest:
            states = self.keys[event.key]
            if event.content is None and states.contents[-1] is None:
                self.find("a watch tells of the deletion of what is not there", event)
            states.add(event.version, event.content)
        self.last_version = longest[-1].version if longest else 0

    # --- every change has one request that made it, and every answered request its change

    def match_writes(self):
        by_token = {request.token: request for request in self.requests if request.verb in WRITES}
        deletions = Deletions(self.requests)
        self.maker = {}  # version -> request
        made = set()
        for version, event in sorted(self.events.items()):
            states = self.keys[event.key]
            index = states.at(version)
            before = states.contents[index - 1]
            if event.content is None:
                maker = deletions.of(event)
            else:
                new = [token for token in event.content.values() if token not in (before or {}).values()]
                maker = by_token.get(new[0]) if len(new) == 1 else None
            if maker is None:
                self.find("a change that nobody asked for, or that mixes several", event)
                continue
            if maker.token in made:
                self.find("a request took effect twice", maker, event)
            made.add(maker.token)
            self.maker[version] = maker
            self.check_change(maker, event, before, states.versions[index - 1])
        for request in self.requests:
            if request.verb in WRITES and request.code is not None and request.code < 300 and request.token not in made:
                self.find("an acknowledged write is lost", request)

    def check_change(self, maker, event, before, before_version):
        if maker.code is not None and maker.code >= 300:
            self.find("a refused write took effect", maker, event)
        if maker.code is not None and maker.code < 300 and maker.verb != "delete" and maker.version != event.version:
            self.find("a write was answered with another version than it has", maker, event)
        if maker.asked_version is not None and maker.asked_version != before_version:
            self.find("a write on another version than it named", maker, event, before_version)
        if maker.verb == "delete":
            return
        sent = self.sent[maker.token]
        expected = {"create": sent if before is None else None,
                    "replace": sent if before is not None else None,
                    "patch": {**before, **sent} if before is not None else None,
                    "apply": {**(before or {}), **sent}}[maker.verb]
        if event.content != expected:
            self.find("a write made something else of what was there", maker, event, before, expected)

    # --- answers against the order of changes

    def read_clock(self):
        """What was known to have happened at a time: the highest version in any answer that had ended by then."""
        known = [(request.ended, request.version) for request in self.requests if request.version and request.code is not None and request.code < 300]
        known += [(maker.ended, version) for version, maker in self.maker.items() if maker.verb == "delete" and maker.code == 200]
        self.times, self.floors, highest = [], [], 0
        for ended, version in sorted(known):
            highest = max(highest, version)
            self.times.append(ended)
            self.floors.append(highest)

    def floor(self, time):
        index = bisect.bisect_left(self.times, time)
        return self.floors[index - 1] if index else 0

    def begun_before(self, version, time):
        """Whether the change with that version was asked for before the time."""
        maker = self.maker.get(version)
        return version == 0 or maker is None or maker.began < time

    def possible(self, request, holds):
        """Whether the key was in a state for which holds(version, content), at a moment of the request."""
        states = self.keys[request.key]
        index = states.at(self.floor(request.began))
        while index < len(states.versions) and self.begun_before(states.versions[index], request.ended):
            if holds(states.versions[index], states.contents[index]):
                return True
            index += 1
        return False

    def check_answer(self, request):
        verb, code = request.verb, request.code
        if code is None or code in REFUSED_FOR_NOW or verb == "list":
            return
        absent = lambda version, content: content is None  # noqa: E731
        if code < 300:
            if verb == "get" and not self.possible(request, lambda version, content: version == request.version and content == request.content):
                self.find("a read of what was not there then", request)
        elif code == 404:
            if verb == "apply" or not self.possible(request, absent):
                self.find("not found, but it was there all the time", request)
        elif code == 409 and verb == "create":
            if not self.possible(request, lambda version, content: content is not None):
                self.find("already exists, but it did not", request)
        elif code == 409 and request.asked_version is not None:
            if not self.possible(request, lambda version, content: version != request.asked_version):
                self.find("a conflict where there was none", request)
        else:
            self.find("an answer that nothing explains", request)

    def check_lists(self):
        state, events, position = {}, sorted(self.events.values()), 0
        for request in sorted((one for one in self.requests if one.verb == "list" and one.code == 200), key=lambda one: one.version):
            while position < len(events) and events[position].version <= request.version:
                event = events[position]
                position += 1
                if event.content is None:
                    state.pop(event.key, None)
                else:
                    state[event.key] = (event.version, event.content)
            if request.version < self.floor(request.began):
                self.find("a list from before what was known when it was asked for", request.version, self.floor(request.began))
            if request.content != state:
                odd = {key: (request.content.get(key), state.get(key)) for key in {*request.content, *state} if request.content.get(key) != state.get(key)}
                self.find("a list that is not the state at its version", request.version, odd)


def check(requests, watches, sent):
    return Checker(requests, watches, sent).run()

"""A collector of spans that takes OTLP over HTTP in protobuf, and nothing else: whatever is not as opentelemetry-proto has it is an error of the test."""
import collections
import http.server
import re
import struct
import threading

Span = collections.namedtuple("Span", "service trace span parent name kind begin end attributes status state resource")
SERVER, CLIENT, CONSUMER = 2, 3, 5
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# number: (name, wire form, repeated, message or None)
ANY_VALUE = {1: ("string", BYTES, False, None), 2: ("bool", VARINT, False, None), 3: ("int", VARINT, False, None), 4: ("double", FIXED64, False, None)}
KEY_VALUE = {1: ("key", BYTES, False, None), 2: ("value", BYTES, False, ANY_VALUE)}
RESOURCE = {1: ("attributes", BYTES, True, KEY_VALUE), 2: ("dropped", VARINT, False, None)}
SCOPE = {1: ("name", BYTES, False, None), 2: ("version", BYTES, False, None), 3: ("attributes", BYTES, True, KEY_VALUE), 4: ("dropped", VARINT, False, None)}
STATUS = {2: ("message", BYTES, False, None), 3: ("code", VARINT, False, None)}
EVENT = {1: ("time", FIXED64, False, None), 2: ("name", BYTES, False, None), 3: ("attributes", BYTES, True, KEY_VALUE)}
LINK = {1: ("trace", BYTES, False, None), 2: ("span", BYTES, False, None), 3: ("state", BYTES, False, None), 4: ("attributes", BYTES, True, KEY_VALUE), 6: ("flags", FIXED32, False, None)}
SPAN = {1: ("trace", BYTES, False, None), 2: ("span", BYTES, False, None), 3: ("state", BYTES, False, None), 4: ("parent", BYTES, False, None),
        5: ("name", BYTES, False, None), 6: ("kind", VARINT, False, None), 7: ("begin", FIXED64, False, None), 8: ("end", FIXED64, False, None),
        9: ("attributes", BYTES, True, KEY_VALUE), 11: ("events", BYTES, True, EVENT), 13: ("links", BYTES, True, LINK), 15: ("status", BYTES, False, STATUS),
        16: ("flags", FIXED32, False, None)}
SCOPE_SPANS = {1: ("scope", BYTES, False, SCOPE), 2: ("spans", BYTES, True, SPAN), 3: ("schema", BYTES, False, None)}
RESOURCE_SPANS = {1: ("resource", BYTES, False, RESOURCE), 2: ("scopes", BYTES, True, SCOPE_SPANS), 3: ("schema", BYTES, False, None)}
REQUEST = {1: ("resources", BYTES, True, RESOURCE_SPANS)}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        assert shift <= 70, "a number of more than ten bytes"
        if byte < 0x80:
            return value, at


def message(data, shape):
    """{name: value or list}, with every field known, of its form, and at most once unless it is repeated."""
    found, at = {name: [] for name, _, repeated, _ in shape.values() if repeated}, 0
    while at < len(data):
        key, at = varint(data, at)
        assert key >> 3 in shape, f"there is no field {key >> 3}"
        name, form, repeated, inner = shape[key >> 3]
        assert key & 7 == form, f"{name} has the form {key & 7}"
        if form == VARINT:
            value, at = varint(data, at)
        elif form == BYTES:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, f"{name} is cut off"
        else:
            value, = struct.unpack_from("<Q" if form == FIXED64 else "<I", data, at)
            at += 8 if form == FIXED64 else 4
        if inner:
            value = message(value, inner)
        if repeated:
            found[name].append(value)
        else:
            assert name not in found, f"{name} stands twice"
            found[name] = value
    return found


def attributes(pairs):
    read = {}
    for pair in pairs:
        key, value = pair["key"].decode(), pair["value"]
        assert key and key not in read, f"the attribute {key!r} stands twice"
        assert len(value) == 1, f"{key} has {len(value)} values"
        (kind, held), = value.items()
        read[key] = held.decode() if kind == "string" else held
    return read


def spans_of(body):
    spans = []
    for resource in message(body, REQUEST)["resources"]:
        resource_attributes = attributes(resource["resource"]["attributes"])
        assert resource_attributes["service.name"]
        for scope in resource["scopes"]:
            assert scope["scope"]["name"] == b"virtgate"
            for one in scope["spans"]:
                assert len(one["trace"]) == 16 and any(one["trace"]) and len(one["span"]) == 8 and any(one["span"])
                assert len(one.get("parent", b"\1" * 8)) == 8 and any(one.get("parent", b"\1"))
                assert one["name"] and 1 <= one["kind"] <= 5 and 0 < one["begin"] <= one["end"]
                assert one.get("status", {}).get("code", 0) in (0, 1, 2)
                state = one.get("state", b"").decode()
                assert re.fullmatch(r"([a-z0-9][a-z0-9_*/@-]*=[ -+\--<>-~]*(,|$))*", state), state
                spans.append(Span(resource_attributes["service.name"], one["trace"].hex(), one["span"].hex(), one.get("parent", b"").hex(), one["name"].decode(), one["kind"],
                                  one["begin"], one["end"], attributes(one["attributes"]), one.get("status"), state, resource_attributes))
    return spans


class Collector:
    """Takes spans at url. `mood`: good, slow (takes and does not answer until let_go), nonsense, refuse, busy."""

    def __init__(self, mood="good"):
        self.mood, self.spans, self.problems, self.headers, self.requests, self.raw = mood, [], [], [], 0, []
        self.lock, self.let_go = threading.Lock(), threading.Event()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                collector.take(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # who was sent nonsense hangs up
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def take(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        mood = self.mood
        with self.lock:
            self.requests += 1
            self.raw.append(body)
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
            if mood == "good":
                try:
                    assert request.path == "/v1/traces", request.path
                    assert request.headers["Content-Type"] == "application/x-protobuf", request.headers["Content-Type"]
                    self.spans += spans_of(body)
                except (AssertionError, KeyError, IndexError, UnicodeDecodeError, struct.error) as problem:
                    self.problems.append(repr(problem))
        if mood == "slow":
            self.let_go.wait(120)
        code, kind, answer = {"nonsense": (200, "text/html", b"<html>\xff\x00" * 10000), "refuse": (400, "text/plain", b"no"),
                              "busy": (503, "text/plain", b"later")}.get(mood, (200, "application/x-protobuf", b""))
        try:
            request.send_response(code)
            request.send_header("Content-Type", kind)
            request.send_header("Content-Length", str(len(answer)))
            request.end_headers()
            request.wfile.write(answer)
        except OSError:  # it did not wait for it
            pass

    def of_trace(self, trace):
        with self.lock:
            return [span for span in self.spans if span.trace == trace]

    def everything(self):
        with self.lock:
            return b"".join(self.raw)

    def close(self):
        self.let_go.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def joined(spans, remote):
    """Whether each span's parent is another of them, or the one that the client sent."""
    known = {span.span for span in spans} | {remote}
    return all(span.parent in known for span in spans)

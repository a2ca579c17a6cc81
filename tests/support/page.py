"""A browser that is signed in to the page, as far as a server sees one: requests with its cookie, watches, WebSockets."""
import base64
import http.client
import json
import os
import re
import socket
import struct

DEADLINE_S = 30
COOKIE = "__Host-virtgate-session"
OWN = {"X-Virtgate-UI": "1"}
OPCODE_CLOSE = 8


class Ended(Exception):
    """A WebSocket is over. The code is None when no close frame came."""

    def __init__(self, code, reason):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


class Socket:
    """A WebSocket after its handshake."""

    def __init__(self, tls, ahead):
        self.tls, self.kept = tls, ahead

    def exactly(self, count):
        while len(self.kept) < count:
            more = self.tls.recv(65536)
            if not more:
                raise Ended(None, "the connection ended")
            self.kept += more
        taken, self.kept = self.kept[:count], self.kept[count:]
        return taken

    def read(self):
        """The next message; raises Ended."""
        while True:
            head = self.exactly(2)
            opcode, length = head[0] & 15, head[1] & 127
            if length == 126:
                length, = struct.unpack(">H", self.exactly(2))
            elif length == 127:
                length, = struct.unpack(">Q", self.exactly(8))
            payload = self.exactly(length)
            if opcode == OPCODE_CLOSE:
                raise Ended(struct.unpack(">H", payload[:2])[0] if payload else 1005, payload[2:].decode())
            if opcode in (1, 2):
                return payload

    def write(self, payload):
        key = os.urandom(4)
        masked = bytes(byte ^ key[at % 4] for at, byte in enumerate(payload))
        assert len(payload) < 126
        self.tls.sendall(bytes([0x82, 0x80 | len(payload)]) + key + masked)

    def end(self):
        """Reads until it is over, and tells how."""
        try:
            while True:
                self.read()
        except Ended as ended:
            return ended

    def close(self):
        self.tls.close()


class Watch:
    """An answer that goes on, a line an event."""

    def __init__(self, connection, answer):
        self.connection, self.answer = connection, answer

    def event(self):
        line = self.answer.readline()
        return json.loads(line) if line else None

    def rest(self):
        """Everything until the server ends it."""
        try:
            return self.answer.read()
        except http.client.IncompleteRead as cut:
            return cut.partial

    def close(self):
        self.connection.close()


class Browser:
    def __init__(self, host, port, context, prefix=""):
        self.host, self.port, self.context, self.prefix, self.cookie = host, port, context, prefix, None

    @property
    def origin(self):
        return f"https://{self.host}:{self.port}"

    def api(self, path):
        return self.prefix + path

    def ask(self, method, path, body=None, headers=None, own=True):
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=DEADLINE_S)
        try:
            sent = {**(OWN if own else {}), **({"Cookie": self.cookie} if self.cookie else {}), **(headers or {})}
            if body is not None and not isinstance(body, (str, bytes)):
                body = json.dumps(body)
                sent.setdefault("Content-Type", "application/json")
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def sign_in(self, token):
        code, headers, body = self.ask("POST", "/ui/session", {"token": token})
        assert code == 201, (code, body)
        self.cookie = re.match(rf"({COOKIE}=[\w-]+); Path=/; Secure; HttpOnly; SameSite=Strict$", headers["Set-Cookie"]).group(1)
        return self

    def sign_out(self):
        return self.ask("DELETE", "/ui/session")[0]

    def watch(self, path, headers=None):
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=DEADLINE_S)
        connection.request("GET", self.api(path), None, {**OWN, "Cookie": self.cookie, **(headers or {})})
        answer = connection.getresponse()
        assert answer.status == 200, (answer.status, answer.read())
        return Watch(connection, answer)

    def upgrade(self, path, headers=None):
        """A Socket, or the code of the refusal."""
        fields = {"Host": f"{self.host}:{self.port}", "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                  "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), "Sec-WebSocket-Protocol": "plain.kubevirt.io",
                  "Origin": self.origin, "Cookie": self.cookie, **(headers or {})}
        tls = self.context.wrap_socket(socket.create_connection((self.host, self.port), timeout=DEADLINE_S), server_hostname=self.host)
        tls.sendall(f"GET {self.api(path)} HTTP/1.1\r\n".encode() + "".join(f"{n}: {v}\r\n" for n, v in fields.items() if v is not None).encode() + b"\r\n")
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = tls.recv(65536)
            assert more, answer
            answer += more
        head, _, ahead = answer.partition(b"\r\n\r\n")
        code = int(head.split()[1])
        if code == 101:
            return Socket(tls, ahead)
        tls.close()
        return code

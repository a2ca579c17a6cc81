"""An API server that misbehaves on request: terminates TLS in front of a real one and passes requests on, unless a test wants something else.

Each connection has a thread. Watches are passed on line by line.
"""
import http.client
import select
import socket
import ssl
import struct
import threading


class Fault:
    """What happens to a request: bytes that are sent, after an event if there is one, instead of or before it is passed on."""

    def __init__(self, send=b"", keep=False, after=None, pass_on=False):
        self.send, self.keep, self.after, self.pass_on = send, keep, after, pass_on


def answer(status, body=b"{}", **headers):
    """A whole answer."""
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    head = f"HTTP/1.1 {status} Whatever\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return Fault(head.encode() + b"\r\n" + body, keep=True)


def raw(data=b""):
    """These bytes, and then the end of the connection."""
    return Fault(data)


def slow(event):
    """Passed on when the event is set."""
    return Fault(after=event, pass_on=True)


def nothing(method, path, headers):
    return None


class FaultProxy:
    def __init__(self, target, target_context, folder, certificate):
        """Passes on to the port `target`; shows the certificate of that name in the folder."""
        self.target, self.target_context, self.folder = target, target_context, folder
        self.changed = threading.Condition()
        self.connections = set()
        self.seen = []  # (method, path, authorization)
        self.frozen, self.listener = False, None
        self.fault = nothing
        self.show(certificate)
        self.port = self.listen(0)

    def show(self, certificate):
        """The certificate of handshakes from here on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{self.folder}/{certificate}.crt", f"{self.folder}/{certificate}.key")
        self.context = context

    def listen(self, port):
        self.listener = socket.create_server(("127.0.0.1", port), backlog=64)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()
        return self.listener.getsockname()[1]

    def accept(self, listener):
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=Connection(self, plain).run, daemon=True).start()

    def down(self):
        """Connections are refused from here on, and those that are there break."""
        if self.listener is not None:
            listener, self.listener = self.listener, None
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.cut()

    def freeze(self):
        """Nothing more comes on connections that are there, ever, nor on new ones until heal()."""
        self.frozen = True

    def heal(self):
        """New connections are as they were at the beginning."""
        with self.changed:
            for connection in self.connections:
                connection.dead |= self.frozen
            self.frozen, self.fault = False, nothing
            self.changed.notify_all()
        if self.listener is None:
            self.listen(self.port)

    def all(self, which=lambda connection: True):
        with self.changed:
            return [connection for connection in self.connections if which(connection)]

    def watches(self, part=""):
        return self.all(lambda connection: connection.watched is not None and part in connection.watched)

    def cut(self, connections=None):
        """Breaks all connections, or those."""
        for connection in self.all() if connections is None else connections:
            connection.cut()

    def inject(self, part, line):
        """Puts a line into the watches whose path has that part; how many there were."""
        found = self.watches(part)
        for connection in found:
            connection.send_chunk(line)
        return len(found)

    def asked(self, part=""):
        with self.changed:
            return [entry for entry in self.seen if part in entry[1]]


class Connection:
    def __init__(self, proxy, plain):
        self.proxy, self.socket = proxy, plain
        self.dead = self.over = False
        self.watched = None  # the path of a watch
        self.writing = threading.Lock()

    def cut(self):
        with self.proxy.changed:
            self.over = True
            self.proxy.changed.notify_all()
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def hold(self):
        """Waits while nothing may come; for ever on a dead connection, until somebody cuts it."""
        with self.proxy.changed:
            self.proxy.changed.wait_for(lambda: self.over or not (self.dead or self.proxy.frozen))
            if self.over:
                raise OSError("cut")

    def run(self):
        upstream = http.client.HTTPSConnection("127.0.0.1", self.proxy.target, context=self.proxy.target_context, timeout=600)
        with self.proxy.changed:
            self.proxy.connections.add(self)
        try:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.hold()
            self.socket = self.proxy.context.wrap_socket(self.socket, server_side=True)
            with self.socket.makefile("rb") as reader:
                while self.serve(reader, upstream):
                    pass
        except (OSError, ValueError, http.client.HTTPException):
            pass
        finally:
            upstream.close()
            with self.proxy.changed:
                self.proxy.connections.discard(self)
            self.socket.close()

    def serve(self, reader, upstream):
        line = reader.readline(65536).decode()
        if not line:
            return False
        method, path, _ = line.split(" ", 2)
        headers = {}
        while (field := reader.readline(65536).decode().strip()) != "":
            name, value = field.split(":", 1)
            headers[name.strip().lower()] = value.strip()
        body = reader.read(int(headers.get("content-length", 0)))
        with self.proxy.changed:
            self.proxy.seen.append((method, path, headers.get("authorization", "")))
        self.hold()
        fault = self.proxy.fault(method, path, headers)
        if fault and fault.after:
            fault.after.wait()
        if fault and fault.send:
            self.socket.sendall(fault.send)
        if fault and not fault.pass_on:
            return fault.keep
        upstream.request(method, path, body=body or None, headers={name: value for name, value in headers.items() if name not in ("host", "content-length")})
        return self.pass_watch_on(upstream, path) if "watch=true" in path else self.pass_answer_on(upstream)

    def pass_answer_on(self, upstream):
        answered = upstream.getresponse()
        data = answered.read()
        self.hold()
        self.socket.sendall(head_of(answered, f"Content-Length: {len(data)}") + data)
        return True

    def pass_watch_on(self, upstream, path):
        answered = upstream.getresponse()
        self.socket.sendall(head_of(answered, "Transfer-Encoding: chunked"))
        threading.Thread(target=self.end_with_client, args=(upstream.sock or answered.fp.raw._sock,), daemon=True).start()
        self.watched = path
        while line := answered.readline():
            self.hold()
            self.send_chunk(line)
        self.watched = None
        with self.writing:
            self.socket.sendall(b"0\r\n\r\n")
        return False

    def end_with_client(self, upstream):
        """The API server may be silent for long: a client that goes, or that is cut off, ends the watch there."""
        poll = select.poll()
        poll.register(self.socket.fileno(), select.POLLIN | select.POLLRDHUP)  # clients of a watch say nothing more
        poll.poll()
        try:
            socket.socket.shutdown(upstream, socket.SHUT_RDWR)
        except OSError:
            pass

    def send_chunk(self, line):
        with self.writing:
            self.socket.sendall(f"{len(line):x}\r\n".encode() + line + b"\r\n")


class ConnectProxy:
    """An HTTP proxy that opens tunnels, all to one port, for whoever brings the credentials."""

    def __init__(self, target, credentials):
        self.target, self.credentials, self.asked = target, credentials, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rb") as reader:
            line, fields = reader.readline().decode().strip(), []
            while (field := reader.readline().decode().strip()) != "":
                fields.append(field)
            self.asked.append(line)
            if "Proxy-Authorization: Basic " + self.credentials not in fields:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                back = threading.Thread(target=copy, args=(server, client), daemon=True)
                back.start()
                copy(client, server)
                back.join()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def copy(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def head_of(answered, framing):
    kept = "".join(f"{name}: {value}\r\n" for name, value in answered.getheaders()
                   if name.lower() not in ("content-length", "transfer-encoding", "connection"))
    return f"HTTP/1.1 {answered.status} {answered.reason}\r\n{kept}{framing}\r\n\r\n".encode()

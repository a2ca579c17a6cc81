"""Stands between a gateway and its API server, and keeps what the gateway sends: TLS on both sides, bytes as they are."""
import socket
import ssl
import threading


class Recorder:
    def __init__(self, certificate, key, host, port, authority):
        self.sent = []  # of each connection: bytearray
        self.upstream = (host, port)
        self.client_context = ssl.create_default_context(cafile=authority)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        # Whoever shows a certificate is asked for none: a gateway that had one would show it here.
        self.context.verify_mode = ssl.CERT_NONE
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(plain,), daemon=True).start()

    def serve(self, plain):
        try:
            client = self.context.wrap_socket(plain, server_side=True)
            server = self.client_context.wrap_socket(socket.create_connection(self.upstream), server_hostname=self.upstream[0])
        except (OSError, ssl.SSLError):
            return plain.close()
        kept = bytearray()
        self.sent.append(kept)
        back = threading.Thread(target=self.pump, args=(server, client, None), daemon=True)
        back.start()
        self.pump(client, server, kept)
        back.join()
        client.close()
        server.close()

    @staticmethod
    def pump(source, target, kept):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                if kept is not None:
                    kept += data
                target.sendall(data)
        except (OSError, ssl.SSLError, ValueError):
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def requests(self):
        """The heads of all requests: [(first line, {lower-case name: [values]})]."""
        found = []
        for connection in list(self.sent):
            for part in bytes(connection).split(b"\r\n\r\n"):
                lines = part.decode("latin-1").split("\r\n")
                begin = next((at for at, line in enumerate(lines) if line.endswith(" HTTP/1.1")), None)
                if begin is None:
                    continue
                # A body without an end of line stands before the next request's line.
                first = lines[begin][max(lines[begin].rfind(method + " /") for method in ("GET", "POST", "PUT", "DELETE", "PATCH")):]
                fields = {}
                for line in lines[begin + 1:]:
                    name, _, value = line.partition(":")
                    fields.setdefault(name.lower(), []).append(value.strip())
                found.append((first, fields))
        return found

    def stop(self):
        self.listener.close()

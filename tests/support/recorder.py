"""Stands between a gateway and its API server, and keeps what the gateway sends: TLS on both sides, bytes as they are."""
import asyncio
import contextlib
import ssl
import threading


class Recorder:
    def __init__(self, certificate, key, host, port, authority):
        self.sent = []  # of each connection: bytearray
        self.upstream = (host, port)
        self.client_context = ssl.create_default_context(cafile=authority)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        # One thread for all: a TLS connection must not be read and written by two at once.
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=self.context))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    async def serve(self, client_reader, client_writer):
        kept = bytearray()
        self.sent.append(kept)
        with contextlib.suppress(OSError, ssl.SSLError, asyncio.CancelledError):
            reader, writer = await asyncio.open_connection(*self.upstream, ssl=self.client_context)
            await asyncio.gather(self.pump(client_reader, writer, kept), self.pump(reader, client_writer, None))
        client_writer.close()

    @staticmethod
    async def pump(reader, writer, kept):
        with contextlib.suppress(OSError, ssl.SSLError):
            while data := await reader.read(65536):
                if kept is not None:
                    kept += data
                writer.write(data)
                await writer.drain()
        writer.close()

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

    async def end(self):
        self.server.close()
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def stop(self):
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

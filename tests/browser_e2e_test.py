#!/usr/bin/env python3
"""Streams in a real browser: a page opens WebSockets with its token among the subprotocols, as consoles on the web do.

VIRTGATE_CHROMIUM names a Chromium; without it everything here is skipped. VIRTGATE_BINARY names the program.
"""
import base64
import http.server
import os
import re
import subprocess
import threading
import unittest

from support import streams

CHROMIUM = os.environ.get("VIRTGATE_CHROMIUM", "")
DEADLINE_S = 60
# The server asks for client certificates. A browser's WebSocket gives up then, unless an ordinary request to the same server
# came before it, for which the browser has decided to show none.
PAGE = """<body><script>
const seen = [];
const stream = (name, path, protocols) => new Promise(done => {
  const socket = new WebSocket('wss://SERVER' + path, protocols);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => { seen.push(`${name} speaks ${socket.protocol}`); socket.send(new TextEncoder().encode(name)); };
  socket.onmessage = event => { seen.push(`${name} hears ${new TextDecoder().decode(event.data)}`); socket.close(1000); };
  socket.onclose = event => { seen.push(`${name} ends with ${event.code}`); done(); };
});
const token = 'base64url.bearer.authorization.k8s.io.TOKEN';
fetch('https://SERVER/healthz', {mode: 'no-cors'})
  .then(() => Promise.all([stream('console', 'INSTANCE/console', ['plain.kubevirt.io', token]),
                           stream('vnc', 'INSTANCE/vnc', [token, 'plain.kubevirt.io']),
                           stream('port', 'FORWARD', ['plain.kubevirt.io', token]),
                           stream('stranger', 'INSTANCE/console', ['plain.kubevirt.io'])]))
  .finally(() => { document.body.append('SEEN ' + seen.sort().join('; ') + ' END'); fetch('/done'); });
</script><img src="/until-done"></body>"""


class Site(http.server.ThreadingHTTPServer):
    """Serves the page. A picture on it comes once the page is done, so that the browser does not take it for loaded before."""
    daemon_threads = True

    def __init__(self, page):
        self.page, self.done = page.encode(), threading.Event()
        super().__init__(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/done":
            self.server.done.set()
        elif self.path == "/until-done":
            self.server.done.wait(DEADLINE_S)
        body = self.server.page if self.path == "/" else b""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@unittest.skipUnless(CHROMIUM, "VIRTGATE_CHROMIUM names no Chromium")
class Browser(unittest.TestCase):
    def setUp(self):
        self.world = streams.World()
        self.addCleanup(self.world.end)

    def test_streams_of_a_page(self):
        with open(os.path.join(self.world.folder, "state", "pki", "admin.token")) as file:
            token = base64.urlsafe_b64encode(file.read().strip().encode()).decode().rstrip("=")
        page = PAGE.replace("TOKEN", token).replace("SERVER", f"{self.world.server.host}:{self.world.server.port}")
        site = Site(page.replace("FORWARD", self.world.port_forward()).replace("INSTANCE", streams.INSTANCE))
        self.addCleanup(site.server_close)
        self.addCleanup(site.shutdown)
        done = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors",
                               f"--user-data-dir={self.world.folder}/browser", "--dump-dom", f"http://127.0.0.1:{site.server_address[1]}/"],
                              capture_output=True, text=True, timeout=DEADLINE_S)
        seen = re.search(r"SEEN (.*) END", done.stdout.rpartition("</script>")[2])
        self.assertTrue(seen, done.stdout + done.stderr)
        self.assertEqual(seen.group(1).split("; "), [
            "console ends with 1000", "console hears console", "console speaks plain.kubevirt.io",
            "port ends with 1000", "port hears port", "port speaks plain.kubevirt.io",
            "stranger ends with 1006",
            "vnc ends with 1000", "vnc hears vnc", "vnc speaks plain.kubevirt.io"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

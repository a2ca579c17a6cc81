"""Actions on machines whose node is a stand-in."""
import http.client
import http.server
import os
import ssl
import subprocess
import threading

CONTROLLER = {"Impersonate-User": "system:serviceaccount:kubevirt:kubevirt-controller", "Impersonate-Group": "system:masters"}


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)


def make_pki(folder):
    """The nodes' authority, a handler's certificate, and the one that the server shows to handlers."""
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=kubevirt-ca",
            "-keyout", "ca.key", "-out", "ca.crt")
    for name, subject, usage in (("handler", "kubevirt.io:system:node:virt-handler", "serverAuth"),
                                 ("client", "kubevirt.io:system:client:virt-handler", "clientAuth")):
        with open(os.path.join(folder, name + ".ext"), "w") as file:
            file.write(f"extendedKeyUsage={usage}\n")
        openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={subject}", "-keyout", name + ".key",
                "-out", name + ".csr")
        openssl(folder, "x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile",
                name + ".ext", "-out", name + ".crt")


class Handler:
    """A node's handler: notes what it is asked, answers what `answers` has for the last part of the path, else 202."""

    def __init__(self, folder, port):
        self.calls, self.answers, self.connections = [], {}, set()
        outer = self

        class Requests(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                outer.connections.add(self.client_address)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                subject = dict(item[0] for item in self.connection.getpeercert()["subject"])["commonName"]
                outer.calls.append((self.command, self.path, body, subject))
                code, data = outer.answers.get(self.path.rsplit("/", 1)[-1], (202, b""))
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PUT = answer

            def log_message(self, *args):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/handler.crt", f"{folder}/handler.key")
        context.load_verify_locations(f"{folder}/ca.crt")
        context.verify_mode = ssl.CERT_REQUIRED
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Requests)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

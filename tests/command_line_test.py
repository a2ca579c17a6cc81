#!/usr/bin/env python3
"""The command line as people meet it: completion in real shells, the log on a terminal, what the program was built from.

VIRTGATE_BINARY names the program.
"""
import contextlib
import itertools
import json
import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from support import serve as e2e

SOURCE = os.environ.get("VIRTGATE_SOURCE_DIR") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEADLINE_S = 30


def call(*arguments, **more):
    return subprocess.run([e2e.BINARY, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, **more)


# What every shell offers for what stands before the cursor: a word after the last space is what has been typed of the next one.
OFFERED = {
    "virtgate se": ["serve"],
    "virtgate --": ["--help", "--version"],
    "virtgate state ": ["accept-loss", "check", "export"],
    "virtgate state ac": ["accept-loss"],
    "virtgate state check --": ["--help", "--state"],
    "virtgate serve --li": ["--libvirt", "--listen"],
    "virtgate serve --sandbox ": ["off", "on", "required"],
    "virtgate serve --sandbox re": ["required"],
    "virtgate serve --sandbox=re": ["required"],
    "virtgate simulate x --phase Sched": ["Scheduled", "Scheduling"],
    "virtgate simulate state --ph": ["--phase"],
    "virtgate version -o ": ["json", "text"],
    "virtgate completion z": ["zsh"],
    "virtgate help simu": ["simulate"],
    "virtgate serve --listen ": [],
    "virtgate restore FOLDER/f": ["file", "folder"],
    "virtgate backup state FOLDER/f": ["file", "folder"],
    "virtgate serve --state FOLDER/f": ["folder"],
    "virtgate serve --state=FOLDER/f": ["folder"],
}

# zsh offers by `compadd`, which only works while it completes: the words go to a pipe. Helpers that ask it with -O, -A or -D offer nothing.
ZSH_SHOWS = r"""
autoload -Uz compinit; compinit -u -D
source {script}
show() {{
  compadd() {{
    local -a offered
    if [[ -z ${{(M)@[1,(i)(-|--)]:#-*[OAD]*}} ]]; then
      builtin compadd -O offered "$@"
      (( $#offered )) && print -rl -u {pipe} -- $offered
    fi
    builtin compadd "$@"
  }}
  _main_complete
  unfunction compadd
  print -u {pipe} -- :end
}}
zle -C show complete-word show
bindkey '^X' show
print -u {pipe} -- :end
"""
ERASE_LINE, SHOW = b"\x15", b"\x18"


def offered_by_bash(lines, script):
    def ask(line):
        words = line.replace("=", " = ").split(" ")
        asked = f"""source {script}
COMP_WORDS=({' '.join("'" + word + "'" for word in words)})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_virtgate
printf '%s\\n' "${{COMPREPLY[@]}}" """
        done = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True, timeout=DEADLINE_S)
        return done.stdout.split() if not done.returncode and not done.stderr else [done.stderr]
    return {line: ask(line) for line in lines}


def offered_by_fish(lines, script):
    def ask(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], capture_output=True, text=True, timeout=DEADLINE_S)
        words = [offered.split("\t")[0] for offered in done.stdout.splitlines()]
        return [word.partition("=")[2] or word for word in words] if not done.stderr else [done.stderr]
    return {line: ask(line) for line in lines}


def drain(terminal):
    with contextlib.suppress(OSError):  # the other end is closed
        while os.read(terminal, 65536):
            pass


def offered_by_zsh(lines, script):
    leader, follower = pty.openpty()
    reading, writing = os.pipe()
    with open(script + ".shows", "w") as file:
        file.write(ZSH_SHOWS.format(script=script, pipe=writing))
    shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=follower, stdout=follower, stderr=follower, pass_fds=[writing], start_new_session=True)
    os.close(follower)
    os.close(writing)
    threading.Thread(target=drain, args=[leader], daemon=True).start()
    patience = threading.Timer(DEADLINE_S, shell.kill)  # the pipe then ends
    patience.start()
    try:
        with open(reading) as pipe:
            def ask(keys):
                os.write(leader, keys)
                return {line.rstrip("\n") for line in itertools.takewhile(lambda line: line not in (":end\n", ""), iter(pipe.readline, None))}
            ask(f"source {script}.shows\n".encode())
            return {line: ask(ERASE_LINE + line.encode() + SHOW) for line in lines}
    finally:
        patience.cancel()
        shell.kill()
        shell.wait()
        os.close(leader)


class Completion(unittest.TestCase):
    def check(self, shell, offered_by):
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w") as file:
                file.write(call("completion", shell).stdout)
            examples = os.path.join(folder, "examples")
            os.makedirs(os.path.join(examples, "folder"))
            open(os.path.join(examples, "file"), "w").close()
            lines = {line.replace("FOLDER", examples): words for line, words in OFFERED.items()}
            offered = offered_by(lines, script)
        self.assertEqual({line: sorted(word.removesuffix("/").split("/")[-1] for word in words) for line, words in offered.items()}, lines)

    def test_in_bash(self):
        self.check("bash", offered_by_bash)

    def test_in_zsh(self):
        self.check("zsh", offered_by_zsh)

    def test_in_fish(self):
        self.check("fish", offered_by_fish)

    def test_shells_can_read_it(self):
        for shell in ("bash", "zsh", "fish"):
            script = call("completion", shell)
            self.assertEqual(script.returncode, 0)
            self.assertNotIn("\n\n\n", script.stdout)
            if not shutil.which(shell):
                continue
            done = subprocess.run([shell, "-n"], input=script.stdout, capture_output=True, text=True, timeout=DEADLINE_S)
            self.assertEqual((done.returncode, done.stderr), (0, ""), shell)


class Terminal(e2e.Scratch):
    def run_on_terminal(self, *flags, **environment):
        """What a terminal shows of a server until it says how to stop it."""
        leader, follower = pty.openpty()
        process = subprocess.Popen([e2e.BINARY, "serve", "--api-only", "--state", self.state, "--listen", f"127.0.0.1:{e2e.free_port()}", *flags],
                                   stdout=follower, stderr=follower, env={**os.environ, "TERM": "xterm", **environment})
        os.close(follower)
        seen, deadline = b"", time.monotonic() + DEADLINE_S
        try:
            while b"Ctrl-C stops it." not in seen:
                self.assertTrue(select.select([leader], [], [], max(0, deadline - time.monotonic()))[0], seen.decode())
                seen += os.read(leader, 65536)
            process.terminate()
            process.wait(DEADLINE_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            os.close(leader)
        return seen.decode().replace("\r\n", "\n")

    def test_log_is_text_and_the_welcome_comes_last(self):
        shown = self.run_on_terminal(NO_COLOR="1")
        log, welcome = shown.split("virtgate 0.", 1)
        self.assertRegex(log, r"(?m)^\d\d:\d\d:\d\d serving  address=127\.0\.0\.1:\d+  apiOnly=true$")
        for line in log.strip().splitlines():
            self.assertRegex(line, r"^\d\d:\d\d:\d\d ")
        self.assertIn("tokens", log, "what the start has to say comes first")
        self.assertNotIn("\033", shown)
        self.assertIn(f"  export KUBECONFIG={self.state}/admin.kubeconfig\n  kubectl get vms", welcome)
        self.assertTrue(welcome.rstrip().endswith("Ctrl-C stops it."), welcome)

    def test_colours_and_json_when_asked(self):
        self.assertIn("\033[", self.run_on_terminal("--log-format=text"))
        log = self.run_on_terminal("--log-format=json").split("virtgate 0.", 1)[0]
        for line in log.strip().splitlines():
            self.assertIn("msg", json.loads(line))

    def test_text_in_a_pipe_when_asked(self):
        server = self.server("--log-format", "text").start()
        server.stop()
        self.assertRegex(server.errors(), r"(?m)^\d\d:\d\d:\d\d serving ")
        self.assertNotIn("\033", server.errors())


class BuildData(unittest.TestCase):
    def test_version(self):
        document = json.loads(call("version", "-o", "json").stdout)
        self.assertRegex(document["compiler"], r"^clang \d+\.\d+\.\d+$")
        self.assertRegex(document["buildDate"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        if os.path.exists(os.path.join(SOURCE, ".git")) and shutil.which("git"):
            self.assertRegex(document["gitCommit"], r"^[0-9a-f]{40,}$")
            self.assertIn(document["gitTreeState"], ("clean", "dirty"))
            self.assertGreater(document["buildDate"], "2020")
            self.assertIn(document["gitCommit"], call("version").stdout)

    def header(self, source, **environment):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "build_info.h")
            done = subprocess.run(["cmake", "-D", f"SOURCE_DIR={source}", "-D", f"OUTPUT={output}", "-P", os.path.join(SOURCE, "cmake/build_info.cmake")],
                                  capture_output=True, text=True, timeout=DEADLINE_S, env={**os.environ, **environment})
            self.assertEqual(done.returncode, 0, done.stderr)
            before = os.stat(output).st_mtime_ns
            subprocess.run(done.args, check=True, capture_output=True, timeout=DEADLINE_S, env={**os.environ, **environment})
            self.assertEqual(os.stat(output).st_mtime_ns, before, "nothing changed, so nothing is to be built")
            with open(output) as file:
                return dict(re.findall(r'(?m)^#define VIRTGATE_(\w+) "(.*)"$', file.read()))

    def test_sources(self):
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=x"]
        with tempfile.TemporaryDirectory() as source:
            os.mkdir(os.path.join(source, "cmake"))
            path = os.path.join(source, "cmake/source_id.txt")
            with open(path, "w") as file:
                file.write("text\n$Format:%H %ct$\n")
            self.assertEqual(self.header(source), {"COMMIT": "", "TREE_STATE": "", "BUILD_DATE": "1970-01-01T00:00:00Z"})
            self.assertEqual(self.header(source, SOURCE_DATE_EPOCH="86400")["BUILD_DATE"], "1970-01-02T00:00:00Z")
            for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x", "--date", "2001-01-01T00:00:00Z"]):
                subprocess.run([*git, *command], cwd=source, check=True, env={**os.environ, "GIT_COMMITTER_DATE": "2002-02-02T02:02:02Z"})
            clean = self.header(source)
            self.assertEqual((clean["TREE_STATE"], clean["BUILD_DATE"]), ("clean", "2002-02-02T02:02:02Z"))
            self.assertEqual(len(clean["COMMIT"]), 40)
            with open(path, "w") as file:
                file.write(f"text\n{'ab' * 20} 86400\n")
            self.assertEqual(self.header(source)["TREE_STATE"], "dirty")
            shutil.rmtree(os.path.join(source, ".git"))
            self.assertEqual(self.header(source), {"COMMIT": "ab" * 20, "TREE_STATE": "archive", "BUILD_DATE": "1970-01-02T00:00:00Z"})


if __name__ == "__main__":
    unittest.main(verbosity=2)

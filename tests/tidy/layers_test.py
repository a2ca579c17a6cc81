"""Modules use what stands above them in CMakeLists.txt and nothing else, and ARCHITECTURE.md shows which."""
import os
import re
import subprocess
import sys
import unittest

import repository

sys.path.insert(0, os.path.join(repository.SOURCE, "tools"))
import module_graph  # noqa: E402


class Layers(unittest.TestCase):
    def test_no_module_uses_one_below_it(self):
        order, edges = module_graph.modules(), module_graph.includes()
        self.assertIn(("resources", "objects"), edges)
        self.assertEqual(module_graph.upward(order, edges), {})
        self.assertEqual(module_graph.upward(["b", "a"], {("b", "a"): ["x"]}), {("b", "a"): ["x"]})  # the check itself

    def test_ports_and_writing_know_no_network(self):
        edges = module_graph.includes()
        for module in ("ports", "admission", "catalog", "objects", "config"):
            for network in ("http", "server"):
                self.assertNotIn((module, network), edges)

    def test_every_folder_of_src_is_a_module(self):
        folders = {name.split("/")[1] for name in repository.names() if re.match(r"src/\w+/", name)}
        self.assertEqual(folders, set(module_graph.modules()))

    def test_the_drawing_is_what_the_sources_say(self):
        done = subprocess.run([sys.executable, os.path.join(repository.SOURCE, "tools/module_graph.py"), "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

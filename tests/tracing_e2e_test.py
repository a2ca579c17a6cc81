#!/usr/bin/env python3
"""Spans of requests, admission, writes, controllers' passes and calls of nodes come to a collector as one trace; a collector that is slow, away or talks nonsense
costs spans and nothing else. The collector is a stand-in that takes OTLP over HTTP and checks it strictly (tests/support/otlp.py).

VIRTGATE_BINARY names the program.
"""
import json
import os
import re
import subprocess
import unittest
from unittest import mock

from support import cluster, kubectl, node, otlp
from support import serve as e2e
from support.simulated import ACTIONS, MERGE, VMIS, VMS, Simulated

PARENT = "00f067aa0ba902b7"
MARKS = ("trace.virtgate.io/traceparent", "trace.virtgate.io/tracestate")


def trace_id(number):
    return f"{number:032x}"


def traced(number, flags="01", **more):
    return {"traceparent": f"00-{trace_id(number)}-{PARENT}-{flags}", **more}


def environment(collector, **more):
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "100", **more}


class Traced(Simulated):
    nodes = 1
    mood, settings = "good", {}

    def run_server(self):
        self.collector = otlp.Collector(self.mood)
        self.addCleanup(self.collector.close)
        with mock.patch.dict(os.environ, environment(self.collector, **self.settings)):
            return super().run_server()

    def tearDown(self):
        self.assertEqual(self.collector.problems, [])

    def until_spans(self, number, names):
        """Waits for spans of these names in that trace; all that there are then."""
        trace = trace_id(number)
        self.until(f"spans {names} in {[span.name for span in self.collector.of_trace(trace)]}",
                   lambda: names <= {span.name for span in self.collector.of_trace(trace)})
        return self.collector.of_trace(trace)

    def until_joined(self, number):
        """Spans come when they end, so those below are there before those above."""
        self.until(f"all spans below another one: {self.collector.of_trace(trace_id(number))}", lambda: otlp.joined(self.collector.of_trace(trace_id(number)), PARENT))

    def dropped(self):
        text = self.one.get("/metrics", headers=self.one.as_admin())[2]
        return {outcome: int(count) for outcome, count in re.findall(r'virtgate_trace_spans_total\{outcome="(\w+)"\} (\d+)', text)}


class OneTrace(Traced):
    def test_a_create_and_everything_that_follows_from_it(self):
        body = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
                "metadata": {"name": "demo", "annotations": {MARKS[0]: f"00-{trace_id(99)}-{PARENT}-01", MARKS[1]: "vg=1", "kept": "yes"}},
                "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"memory": {"guest": "64Mi"}, "devices": {}}}}}}
        made = self.good("POST", VMS, body, headers=traced(1, tracestate="vendor=x,vg=ffff", **{"User-Agent": "tester/1"}))
        self.assertIn(trace_id(1), made["metadata"]["annotations"][MARKS[0]])
        self.assertRegex(made["metadata"]["annotations"][MARKS[1]], r"^vg=[0-9a-f]{8},vendor=x$")
        self.assertEqual(made["metadata"]["annotations"]["kept"], "yes")
        self.assertNotIn("trace.virtgate.io", json.dumps(made["metadata"]["managedFields"]))
        self.until_printable("demo", "Running")
        spans = self.until_spans(1, {"create virtualmachines", "authentication", "authorization", "admission", "store", "controller pass", "write"})
        self.until_joined(1)
        spans = self.collector.of_trace(trace_id(1))
        request = next(span for span in spans if span.name == "create virtualmachines")
        self.assertEqual((request.parent, request.kind, request.service), (PARENT, otlp.SERVER, "virtgate"))
        for key, value in {"http.request.method": "POST", "http.response.status_code": 201, "user_agent.original": "tester/1", "virtgate.resource": "virtualmachines",
                           "k8s.namespace.name": "default"}.items():
            self.assertEqual(request.attributes[key], value)
        passes = [span for span in spans if span.name == "controller pass"]
        self.assertTrue(all(span.kind == otlp.CONSUMER for span in passes))
        # The VMI was made by the pass over the VM, and what was done about it belongs to the same trace.
        self.assertIn(trace_id(1), self.get(f"{VMIS}/demo")["metadata"]["annotations"][MARKS[0]])
        self.assertGreater(len({span.attributes["virtgate.controller"] for span in passes}), 1, passes)
        self.assertNotIn("vg=1", json.dumps(made))

    def test_actions_have_traces_of_their_own_down_to_the_node(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.until("ready", lambda: self.conditions(f"{VMIS}/demo").get("Ready") == "True")
        self.good("PUT", f"{ACTIONS}/virtualmachineinstances/demo/pause", {}, headers=traced(2))
        spans = self.until_spans(2, {"update virtualmachineinstances/pause", "call node"})
        self.until_joined(2)
        self.assertEqual(next(span for span in spans if span.name == "call node").kind, otlp.CLIENT)
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/stop", {"gracePeriod": 0}, headers=traced(3))
        self.until_spans(3, {"update virtualmachines/stop", "write", "store", "controller pass"})
        self.until_joined(3)

    def test_marks_are_the_servers(self):
        self.vm("demo", strategy="Halted")
        # The controller has written all that it has to: annotations and a status.
        self.until("settled", lambda: self.printable("demo") == "Stopped" and "kubevirt.io/latest-observed-api-version" in self.get(f"{VMS}/demo")["metadata"]["annotations"])
        before = self.get(f"{VMS}/demo")["metadata"]
        forged = {"metadata": {"annotations": {MARKS[0]: f"00-{trace_id(98)}-{PARENT}-01"}}}
        after = self.good("PATCH", f"{VMS}/demo", forged, headers={**MERGE, **traced(4, flags="00")})["metadata"]
        self.assertEqual(after["annotations"], before["annotations"])
        self.assertEqual(after["resourceVersion"], before["resourceVersion"], "nothing was changed")
        gone = self.good("PATCH", f"{VMS}/demo", {"metadata": {"annotations": None, "labels": {"a": "b"}}}, headers={**MERGE, **traced(4, flags="00")})["metadata"]
        self.assertEqual(gone["annotations"][MARKS[0]], before["annotations"][MARKS[0]])
        moved = self.good("PATCH", f"{VMS}/demo", {"metadata": {"labels": {"a": "c"}}}, headers={**MERGE, **traced(5)})["metadata"]
        self.assertIn(trace_id(5), moved["annotations"][MARKS[0]])

    def test_hostile_headers_are_as_none(self):
        for headers in ({"traceparent": "00-" + "0" * 32 + f"-{PARENT}-01"}, {"traceparent": "x" * 5000}, {"traceparent": f"00-{'A' * 32}-{PARENT}-01"},
                        traced(6, flags="zz"), {"tracestate": "a=1"}, traced(6, flags="01-")):
            self.good("GET", f"{VMS}?limit=1", headers=headers)
        self.good("GET", f"{VMS}?limit=1", headers=traced(7, tracestate="a=1," * 200))
        self.until_spans(7, {"list virtualmachines"})
        self.assertEqual(self.collector.of_trace(trace_id(6)), [])
        self.assertEqual([span.state.split(",")[1:] for span in self.collector.of_trace(trace_id(7)) if span.parent == PARENT], [[]])

    def test_what_is_not_sampled_is_not_sent(self):
        self.good("GET", f"{VMS}?limit=1", headers=traced(8, flags="00"))
        self.good("GET", f"{VMS}?limit=1", headers=traced(9))
        self.until_spans(9, {"list virtualmachines"})
        self.assertEqual(self.collector.of_trace(trace_id(8)), [])

    def test_who_is_nobody_is_not_traced(self):
        self.assertEqual(self.one.get(VMS, headers=traced(10))[0], 401)
        self.assertEqual(self.one.get("/healthz", headers=traced(10))[0], 200)
        self.good("GET", f"{VMS}?limit=1", headers=traced(11))
        self.until_spans(11, {"list virtualmachines"})
        self.assertEqual(self.collector.of_trace(trace_id(10)), [])

    def test_kubectl_gets_a_new_trace(self):
        program, reason = kubectl.kubectl_on_path()
        if not program:
            self.skipTest(reason)
        subprocess.run([program, "--kubeconfig", os.path.join(self.state, "admin.kubeconfig"), "create", "configmap", "fresh", "--from-literal=a=b"], check=True,
                       capture_output=True, timeout=e2e.DEADLINE_S)
        found = self.until("kubectl's span", lambda: [span for span in list(self.collector.spans) if span.name == "create configmaps"])
        self.assertEqual((len(found), found[0].parent), (1, ""))
        self.assertIn("kubectl", found[0].attributes["user_agent.original"])
        names = lambda: {span.name for span in self.collector.of_trace(found[0].trace)}  # noqa: E731
        self.until("the rest of the trace", lambda: {"authentication", "authorization", "store"} <= names())

    def test_what_is_left_is_sent_at_the_end(self):
        self.good("GET", f"{VMS}?limit=1", headers=traced(12))
        self.assertEqual(self.one.stop(), 0)
        self.assertTrue(self.collector.of_trace(trace_id(12)))


class Settings(Traced):
    settings = {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20for-the-collector", "OTEL_SERVICE_NAME": "door", "OTEL_RESOURCE_ATTRIBUTES": "site=here",
                "OTEL_TRACES_SAMPLER": "parentbased_always_off"}

    def test_they_count(self):
        self.good("GET", f"{VMS}?limit=1")
        self.good("GET", f"{VMS}?limit=2", headers=traced(1))
        spans = self.until_spans(1, {"list virtualmachines"})
        self.assertEqual({span.trace for span in self.collector.spans}, {trace_id(1)})
        self.assertEqual((spans[0].service, spans[0].resource["site"]), ("door", "here"))
        self.assertEqual(self.collector.headers[0]["authorization"], "Bearer for-the-collector")
        self.assertNotIn("for-the-collector", self.one.errors())


class Trouble(Traced):
    settings = {"OTEL_BSP_MAX_QUEUE_SIZE": "20", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "10", "OTEL_EXPORTER_OTLP_TIMEOUT": "60000"}

    def many(self):
        """More requests than there is room for, each of which is served."""
        connection = self.one.connect()
        self.addCleanup(connection.close)
        for _ in range(60):
            connection.request("GET", f"{VMS}?limit=1", headers=self.one.as_admin())
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 200)


class Slow(Trouble):
    mood = "slow"

    def test_spans_are_dropped_and_counted(self):
        self.many()
        self.until("drops", lambda: self.dropped()["queue_full"] > 0)
        self.collector.mood = "good"
        self.collector.let_go.set()
        self.until("sent", lambda: self.dropped()["sent"] > 0)
        self.good("GET", f"{VMS}?limit=1", headers=traced(1))
        self.until_spans(1, {"list virtualmachines"})

    def test_nobody_waits_for_it_at_the_end(self):
        self.many()
        self.assertEqual(self.one.stop(), 0)


class Nonsense(Trouble):
    mood = "nonsense"

    def test_nothing_suffers(self):
        self.many()
        self.until("taken for sent or unreachable", lambda: self.collector.requests > 1)
        self.collector.mood = "good"
        self.until("a span", lambda: self.good("GET", f"{VMS}?limit=1", headers=traced(1)) and self.collector.of_trace(trace_id(1)))


class Refuses(Trouble):
    mood = "refuse"

    def test_spans_are_dropped_and_counted(self):
        self.many()
        self.until("refused", lambda: self.dropped()["refused"] > 0)
        self.assertIn("spans do not reach the collector", self.one.errors())


class Away(Trouble):
    def run_server(self):
        server = super().run_server()
        self.collector.close()
        self.collector.close = lambda: None
        return server

    def test_spans_are_dropped_and_counted(self):
        self.many()
        self.until("drops", lambda: self.dropped()["queue_full"] > 0)
        self.assertEqual(self.one.stop(), 0)


class BehindAnApiServer(cluster.Cluster):
    """The cluster mode: what it looks up and writes at the API server, which is traced to the same collector, belongs to the trace of who asked it."""

    @classmethod
    def setUpClass(cls):
        cls.collector = otlp.Collector()
        cls.addClassCleanup(cls.collector.close)
        with mock.patch.dict(os.environ, environment(cls.collector)):
            super().setUpClass()

    def test_an_action(self):
        self.machine("worker", runStrategy="Manual")
        user = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters", **traced(1)}
        code, text = self.gateway.as_proxy("PUT", f"{ACTIONS}/virtualmachines/worker/start", user)
        self.assertEqual(code, 202, text)
        wanted = {("virt-api", "update virtualmachines/start"), ("virt-api", "authorization"), ("virt-api", "GET virtualmachines"), ("virt-api", "PATCH virtualmachines"),
                  ("virtgate", "get virtualmachines"), ("virtgate", "patch virtualmachines/status")}

        def found():
            return {(span.service, span.name) for span in self.collector.of_trace(trace_id(1))}
        cluster.until(f"{wanted} in {found()}", lambda: wanted <= found())
        cluster.until("all spans below another one", lambda: otlp.joined(self.collector.of_trace(trace_id(1)), PARENT))
        self.assertEqual(self.collector.problems, [])


class OnANode(node.Node):
    """A real guest: its start and calls of its node are spans of virtgate-node in the same trace."""

    @classmethod
    def setUpClass(cls):
        reason = node.why_not()
        if reason:
            raise unittest.SkipTest(reason)
        cls.collector = otlp.Collector()
        cls.addClassCleanup(cls.collector.close)
        with mock.patch.dict(os.environ, environment(cls.collector, OTEL_EXPORTER_OTLP_HEADERS="x-key=for-the-collector-alone")):
            super().setUpClass()

    def names(self, number):
        return {(span.service, span.name) for span in self.collector.of_trace(trace_id(number))}

    def test_a_guest_is_started_and_paused(self):
        self.good("POST", node.VMS, self.vm("demo"), headers=traced(1))
        self.until_phase("demo", "Running")
        wanted = {("virtgate", "create virtualmachines"), ("virtgate", "controller pass"), ("virtgate-node", "start guest")}
        self.until(f"{wanted} in {self.names(1)}", lambda: wanted <= self.names(1))
        self.good("PUT", f"{node.ACTIONS}/virtualmachineinstances/demo/pause", {}, headers=traced(2))
        wanted = {("virtgate", "update virtualmachineinstances/pause"), ("virtgate", "call node"), ("virtgate-node", "node pause")}
        self.until(f"{wanted} in {self.names(2)}", lambda: wanted <= self.names(2))
        for number in (1, 2):
            spans = self.collector.of_trace(trace_id(number))
            self.until("all of them joined", lambda: otlp.joined(self.collector.of_trace(trace_id(number)), PARENT))
            self.assertTrue(all(span.resource.get("k8s.node.name") for span in spans if span.service == "virtgate-node"))
        self.assertEqual(self.collector.problems, [])
        for program in ("libvirtd", "qemu-system"):
            for pid in node.children(program, self.state):
                with open(f"/proc/{pid}/environ", "rb") as file:
                    self.assertNotIn(b"for-the-collector-alone", file.read())


if __name__ == "__main__":
    unittest.main()

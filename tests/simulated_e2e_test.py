#!/usr/bin/env python3
"""`virtgate serve --node simulated`: VMs from their start to their end, as clients see them.

VIRTGATE_BINARY names the program. Every wait is for an event, with a deadline.
"""
import asyncio
import os
import signal
import subprocess
import threading
import time
import types
import unittest

from support import kubectl as tool
from support import streams
from support.simulated import ACTIONS, DEADLINE_S, MERGE, MIGRATIONS, VMIS, VMS, Simulated

class Life(Simulated):
    def test_a_vm_runs_and_its_guest_tells_of_itself(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        self.until("ready", lambda: self.conditions(f"{VMS}/demo").get("Ready") == "True")
        vmi = self.get(f"{VMIS}/demo")
        status = vmi["status"]
        self.assertIn(status["nodeName"], ("node01", "node02"))
        self.assertEqual(vmi["metadata"]["labels"]["kubevirt.io/nodeName"], status["nodeName"])
        self.assertEqual([one["phase"] for one in status["phaseTransitionTimestamps"]], ["Pending", "Scheduling", "Scheduled", "Running"])
        interface = status["interfaces"][0]
        self.assertEqual((interface["name"], interface["interfaceName"], interface["infoSource"]), ("default", "eth0", "domain, guest-agent"))
        self.assertTrue(interface["ipAddress"].startswith("10.244."))
        self.assertEqual(status["guestOSInfo"]["name"], "Simulated Linux")
        self.assertEqual([one["target"] for one in status["volumeStatus"]], ["sda"])
        conditions = self.conditions(f"{VMIS}/demo")
        for condition in ("Ready", "LiveMigratable", "StorageLiveMigratable", "AgentConnected"):
            self.assertEqual(conditions.get(condition), "True", conditions)
        self.assertEqual(self.good("GET", f"{ACTIONS}/virtualmachineinstances/demo/guestosinfo")["hostname"], "demo")
        self.until_told("demo", {"SuccessfulCreate", "Created", "Started"})

    def test_pause_freeze_reboot(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        of_vmi = f"{ACTIONS}/virtualmachineinstances/demo"
        self.good("PUT", f"{of_vmi}/pause", {})
        self.until_printable("demo", "Paused")
        self.until("not ready", lambda: self.conditions(f"{VMIS}/demo").get("Ready") == "False")
        self.good("PUT", f"{of_vmi}/unpause", {})
        self.until_printable("demo", "Running")
        self.until("ready", lambda: self.conditions(f"{VMIS}/demo").get("Ready") == "True")
        self.good("PUT", f"{of_vmi}/freeze", {"unfreezeTimeout": "1s"})
        self.assertEqual(self.get(f"{VMIS}/demo")["status"]["fsFreezeStatus"], "frozen")
        self.until("thawed", lambda: "fsFreezeStatus" not in self.get(f"{VMIS}/demo")["status"])
        for action in ("softreboot", "reset"):
            self.good("PUT", f"{of_vmi}/{action}", {})
            self.until("the agent is back", lambda: self.conditions(f"{VMIS}/demo").get("AgentConnected") == "True")
        self.until_told("demo", {"Paused", "Unpaused", "SoftRebooted", "Reset"})

    def test_stop_and_grace_period(self):
        self.vm("obeys", spec={"terminationGracePeriodSeconds": 30})
        self.vm("ignores", spec={"terminationGracePeriodSeconds": 1}, ignores_shutdown="true")
        for name in ("obeys", "ignores"):
            self.until_printable(name, "Running")
            self.good("PUT", f"{ACTIONS}/virtualmachines/{name}/stop", {})
            self.until_printable(name, "Stopped")
            self.until("no VMI", lambda: self.get(f"{VMIS}/{name}") is None)
            self.until_told(name, {"ShuttingDown", "Deleted", "Stopped"})

    def test_crashes(self):
        self.vm("loop", boot_fails="true")
        self.until_printable("loop", "CrashLoopBackOff")
        self.vm("again", crash_after="1s")
        self.until_printable("again", "Running")
        first = self.get(f"{VMIS}/again")["metadata"]["uid"]
        self.until("started again", lambda: (self.get(f"{VMIS}/again") or {}).get("metadata", {}).get("uid", first) != first)
        self.vm("once", strategy="Manual")
        self.good("PUT", f"{ACTIONS}/virtualmachines/once/start", {})
        self.until_printable("once", "Running")
        self.annotate("once", do="panic")
        self.until("failed", lambda: self.get(f"{VMIS}/once")["status"]["phase"] == "Failed")
        self.until_told("once", {"GuestPanicked", "Stopped"})

    def test_a_migration_to_its_end(self):
        self.vm("demo", migration="2s")
        self.until_printable("demo", "Running")
        source = self.get(f"{VMIS}/demo")["status"]["nodeName"]
        self.annotate("demo", do="migrate")
        self.until_printable("demo", "Migrating")
        self.until("moved", lambda: self.get(f"{VMIS}/demo")["status"]["nodeName"] != source)
        self.until_printable("demo", "Running")
        self.until("over", lambda: [one["status"].get("phase") for one in self.good("GET", MIGRATIONS)["items"]] == ["Succeeded"])
        vmi = self.get(f"{VMIS}/demo")
        state = vmi["status"]["migrationState"]
        self.assertTrue(state["completed"] and not state.get("failed"), state)
        self.assertEqual((state["sourceNode"], state["mode"]), (source, "PreCopy"))
        self.assertNotIn("kubevirt.io/migrationTargetNodeName", vmi["metadata"]["labels"])
        self.until("one placement", lambda: list(self.get(f"{VMIS}/demo")["status"]["activePods"].values()) == [state["targetNode"]])
        self.assertEqual(self.conditions(f"{VMIS}/demo")["Ready"], "True")
        self.until_told("demo", {"PreparingTarget", "Migrating", "Migrated"})

    def test_more_memory_than_the_node_has(self):
        def vm(name, **more):
            self.vm(name, spec={"domain": {"memory": {"guest": "1Gi", **more}, "devices": {"interfaces": [{"name": "default", "masquerade": {}}]}}})
            self.until_printable(name, "Running")
            return self.get(f"{VMIS}/{name}")["status"]["nodeName"]

        def change(name):
            return next((one for one in self.get(f"{VMIS}/{name}")["status"].get("conditions", []) if one["type"] == "HotMemoryChange"), None)
        home = vm("grows", maxGuest="100000Gi")
        self.good("PATCH", f"{VMS}/grows", {"spec": {"template": {"spec": {"domain": {"memory": {"guest": "90000Gi"}}}}}}, headers=MERGE)
        found = self.until("it is looked at", lambda: change("grows"))
        self.assertEqual((found["status"], found["reason"]), ("True", "InsufficientNodeResources"))
        self.assertIn(f"node {home} has no room", found["message"])
        self.assertIn("Insufficient memory", found["message"])
        # What it waits for it does not take from others.
        self.assertEqual({vm(f"other{number}") for number in range(self.nodes * 2)}, {f"node{number + 1:02}" for number in range(self.nodes)})

    def test_migrations_that_fail_or_are_cancelled(self):
        self.vm("fails", migration_fails="true")
        self.vm("cancelled", migration="30s")
        for name in ("fails", "cancelled"):
            self.until_printable(name, "Running")
            source = self.get(f"{VMIS}/{name}")["status"]["nodeName"]
            self.good("PUT", f"{ACTIONS}/virtualmachines/{name}/migrate", {})
            if name == "cancelled":
                self.until("begun", lambda: self.get(f"{VMIS}/{name}")["status"].get("migrationState", {}).get("startTimestamp"))
                made = [one for one in self.good("GET", MIGRATIONS)["items"] if one["spec"]["vmiName"] == name][0]
                self.until("running", lambda: self.get(f"{MIGRATIONS}/{made['metadata']['name']}")["status"]["phase"] == "Running")
                self.good("DELETE", f"{MIGRATIONS}/{made['metadata']['name']}")
                self.until("gone", lambda: self.get(f"{MIGRATIONS}/{made['metadata']['name']}") is None)
            self.until("failed", lambda: self.get(f"{VMIS}/{name}")["status"]["migrationState"].get("failed"))
            self.assertEqual(self.get(f"{VMIS}/{name}")["status"]["nodeName"], source)
            self.until_printable(name, "Running")

    def test_a_console_that_echoes(self):
        self.vm("demo")
        self.until_printable("demo", "Running")
        world = types.SimpleNamespace(server=self.one, tls=self.one.context(), admin=self.one.as_admin())

        async def talk():
            console = await streams.Client.open(world, f"{ACTIONS}/virtualmachineinstances/demo/console")
            self.assertIn(b"echoes", await console.receive())
            for size in (1, 126, 10000):
                await console.echo(os.urandom(size))
            self.assertEqual((await console.close()).code, 1000)
            # Its address is made up, and nobody else who may have it is dialled.
            port = await streams.Client.open(world, f"{ACTIONS}/virtualmachineinstances/demo/portforward/22/tcp")
            await port.echo(os.urandom(10000))
            self.assertEqual((await port.close()).code, 1000)
        asyncio.run(asyncio.wait_for(talk(), DEADLINE_S))

    def test_a_running_vm_is_frozen_for_a_snapshot(self):
        """Controllers reach simulated nodes as actions do."""
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"},
                 "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}}}
        self.good("POST", "/api/v1/namespaces/default/persistentvolumeclaims", claim)
        self.vm("demo", volumes=[{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}])
        self.until_printable("demo", "Running")
        snapshots = "/apis/snapshot.kubevirt.io/v1beta1/namespaces/default/virtualmachinesnapshots"
        self.good("POST", snapshots, {"apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineSnapshot", "metadata": {"name": "s"},
                                      "spec": {"source": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "demo"}}})
        self.until("ready", lambda: self.get(f"{snapshots}/s").get("status", {}).get("readyToUse"))
        self.assertEqual(sorted(self.get(f"{snapshots}/s")["status"]["indications"]), ["GuestAgent", "Online"])

    def test_a_restart_changes_nothing(self):
        for number in range(4):
            self.vm(f"vm-{number}", boot="1s")
        self.one.stop(signal.SIGKILL)
        self.one = self.run_server()
        for number in range(4):
            self.until_printable(f"vm-{number}", "Running")
        uids = {one["metadata"]["uid"] for one in self.good("GET", VMIS)["items"]}
        self.one.stop(signal.SIGKILL)
        self.one = self.run_server()
        for number in range(4):
            self.until_printable(f"vm-{number}", "Running")
        self.assertEqual({one["metadata"]["uid"] for one in self.good("GET", VMIS)["items"]}, uids)
        self.assertEqual(len(uids), 4)

    def test_a_node_that_goes_takes_its_guests_along(self):
        self.vm("demo", strategy="Manual")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/start", {})
        self.until_printable("demo", "Running")
        node = self.get(f"{VMIS}/demo")["status"]["nodeName"]
        self.good("DELETE", f"/api/v1/nodes/{node}")
        self.until("lost", lambda: self.get(f"{VMIS}/demo")["status"]["phase"] == "Failed")


@unittest.skipUnless(tool.kubectl_on_path()[0], "no kubectl on PATH")
class Story(Simulated):
    """What kubectl shows."""

    def kubectl(self, *arguments, check=True):
        done = subprocess.run(["kubectl", "--kubeconfig", os.path.join(self.state, "admin.kubeconfig"), *arguments], capture_output=True,
                              text=True, timeout=DEADLINE_S)
        self.assertTrue(done.returncode == 0 or not check, done.stdout + done.stderr)
        return done.stdout

    def watch(self):
        """The states that `kubectl get vm -w` shows from now on, by VM."""
        shown = {}
        process = subprocess.Popen(["kubectl", "--kubeconfig", os.path.join(self.state, "admin.kubeconfig"), "get", "vm", "-w", "--no-headers"],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def follow():
            for line in process.stdout:
                columns = line.split()
                if len(columns) < 4:  # nothing is known of it yet
                    continue
                name, state = columns[0], columns[2]
                states = shown.setdefault(name, [])
                if states[-1:] != [state]:
                    states.append(state)
        threading.Thread(target=follow, daemon=True).start()
        return shown

    def until_shown(self, shown, name, *wanted):
        def in_order():
            rest = iter(list(shown.get(name, [])))
            return all(state in rest for state in wanted)
        deadline = time.monotonic() + DEADLINE_S
        while not in_order():
            self.assertLess(time.monotonic(), deadline, f"{wanted} of {name} in {shown}")
            time.sleep(0.02)

    def test_get_wait_events_and_describe(self):
        shown = self.watch()
        self.vm("demo", strategy="Halted", boot="500ms", shutdown="500ms", migration="1s")
        self.until_shown(shown, "demo", "Stopped")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/start", {})
        self.kubectl("wait", "vm/demo", "--for=condition=Ready", f"--timeout={DEADLINE_S}s")
        self.until_shown(shown, "demo", "Stopped", "Starting", "Running")
        self.good("PUT", f"{ACTIONS}/virtualmachineinstances/demo/pause", {})
        self.until_shown(shown, "demo", "Running", "Paused")
        self.good("PUT", f"{ACTIONS}/virtualmachineinstances/demo/unpause", {})
        self.until_shown(shown, "demo", "Paused", "Running")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/migrate", {})
        self.until_shown(shown, "demo", "Paused", "Running", "Migrating", "Running")
        self.good("PUT", f"{ACTIONS}/virtualmachines/demo/stop", {})
        self.until_shown(shown, "demo", "Migrating", "Running", "Stopping", "Stopped")
        self.vm("loop", boot_fails="true")
        self.until_shown(shown, "loop", "Starting", "CrashLoopBackOff")

        self.until_told("demo", {"Migrated", "Stopped", "SuccessfulDelete"})
        events = self.kubectl("events", "--for", "vmi/demo")
        for reason in ("SuccessfulCreate", "Started", "Paused", "Unpaused", "Migrating", "Migrated", "ShuttingDown", "Stopped"):
            self.assertIn(reason, events)
        described = self.kubectl("describe", "vm", "demo")
        for text in (r"Printable Status: +Stopped", "SuccessfulCreate", "SuccessfulDelete", r"Run Strategy: +Halted"):
            self.assertRegex(described, text)
        self.assertIn("node01", self.kubectl("get", "nodes"))


if __name__ == "__main__":
    unittest.main(verbosity=2)

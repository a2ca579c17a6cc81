#!/usr/bin/env python3
"""What real guests keep and are given: firmware variables, TPM, media, memory dumps, access credentials, a place."""
import os
import unittest

from support.devices import CORE, Devices
from support.node import ACTIONS, VMIS, VMS


class KeepsState(Devices):
    place = "/var/tmp"  # with a state folder below /tmp guests have no TPMs (src/hypervisor/confinement.cpp)

    def test_firmware_and_tpm(self):
        def patch(spec):
            spec["domain"]["firmware"] = {"bootloader": {"efi": {"secureBoot": False, "persistent": True}}}
            spec["domain"]["devices"]["tpm"] = {"persistent": True}
        self.good("POST", VMS, self.machine("kept", patch=patch))
        self.until_phase("kept", "Running")
        self.until("it cannot be moved, and says so", lambda: any(
            (one["type"], one["status"], one.get("reason")) == ("LiveMigratable", "False", "PersistentTPMNotLiveMigratable")
            for one in self.get(f"{VMIS}/kept")["status"].get("conditions", [])))
        claim = self.entry("kept", "persistent-state-for-this-vm")["persistentVolumeClaimInfo"]["claimName"]
        folder = os.path.join(self.state, "disks", "default", claim)
        files = [os.path.join(folder, one) for one in ("nvram/kept_VARS.fd", "tpm/tpm2/tpm2-00.permall")]
        self.until("firmware and TPM have their state there", lambda: all(os.path.exists(one) for one in files))
        before, kept = self.uid("kept"), [os.stat(one).st_ino for one in files[:1]]
        self.good("PUT", f"{ACTIONS}/virtualmachines/kept/restart")
        self.until("restarted", lambda: self.uid("kept") not in (before, None) and self.phase("kept") == "Running")
        self.assertEqual(self.entry("kept", "persistent-state-for-this-vm")["persistentVolumeClaimInfo"]["claimName"], claim)
        self.assertEqual([os.stat(one).st_ino for one in files[:1]], kept)
        self.assertTrue(os.path.exists(files[1]))
        self.remove("kept")
        self.until("its state goes with it", lambda: not os.path.exists(folder))

    def test_media_and_memory_dumps(self):
        for name, size in (("medium", "32Mi"), ("dump", "512Mi")):
            self.claim(name, size)
        self.good("POST", VMS, self.machine("drive", patch=lambda spec: spec["domain"]["devices"]["disks"].append({"name": "tray", "cdrom": {"bus": "sata"}})))
        self.until_phase("drive", "Running")
        volumes = len(self.get(f"{VMS}/drive")["spec"]["template"]["spec"]["volumes"])
        patch = {"Content-Type": "application/json-patch+json"}
        medium = {"name": "tray", "persistentVolumeClaim": {"claimName": "medium", "hotpluggable": True}}
        self.good("PATCH", f"{VMS}/drive", [{"op": "add", "path": "/spec/template/spec/volumes/-", "value": medium}], headers=patch)
        self.until("inserted", lambda: self.entry("drive", "tray").get("phase") == "Ready")
        self.good("PATCH", f"{VMS}/drive", [{"op": "remove", "path": f"/spec/template/spec/volumes/{volumes}"}], headers=patch)
        self.until("ejected", lambda: not self.entry("drive", "tray"))

        self.good("PUT", f"{ACTIONS}/virtualmachines/drive/memorydump", {"claimName": "dump"})
        request = self.until("dumped", lambda: [one for one in [(self.get(f"{VMS}/drive") or {}).get("status", {}).get("memoryDumpRequest", {})]
                                                if one.get("phase") in ("Completed", "Failed")])[0]
        self.assertEqual(request["phase"], "Completed", request)
        self.assertGreater(os.path.getsize(os.path.join(self.state, "disks/default/dump", request["fileName"])), 64 << 20)
        self.remove("drive")

    def test_one_that_does_not_fit_says_what_is_missing(self):
        vm = self.vm("huge")
        vm["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "64Ti"}
        self.good("POST", VMS, vm)

        def told():
            conditions = (self.get(f"{VMIS}/huge") or {}).get("status", {}).get("conditions", [])
            return next((one for one in conditions if one["type"] == "PodScheduled"), {})
        # At first there may be no Node at all.
        self.until("it is said that memory is missing", lambda: told().get("status") == "False" and "memory" in told().get("message", ""))
        self.assertEqual(told()["reason"], "Unschedulable")
        self.until("the VM says it", lambda: (self.get(f"{VMS}/huge") or {})["status"].get("printableStatus") == "ErrorUnschedulable")
        self.remove("huge")

    def test_access_credentials(self):
        self.create(f"{CORE}/secrets", "Secret", "keys", stringData={"one": "ssh-ed25519 AAAA first"})
        self.create(f"{CORE}/secrets", "Secret", "words", stringData={"demo": "another"})
        method = {"qemuGuestAgent": {"users": ["demo"]}}

        def patch(spec):
            spec["accessCredentials"] = [
                {"sshPublicKey": {"source": {"secret": {"secretName": "keys"}}, "propagationMethod": method}},
                {"userPassword": {"source": {"secret": {"secretName": "words"}}, "propagationMethod": {"qemuGuestAgent": {}}}}]
        self.good("POST", VMS, self.machine("agent", patch=patch))
        self.until("the agent has them", lambda: self.condition("agent", "AccessCredentialsSynchronized") == "True")
        self.await_guest("agent", "cat /home/demo/.ssh/authorized_keys", lambda text: text == "ssh-ed25519 AAAA first")
        self.on_console("agent", ("login:", "demo\n"), ("assword:", "another\n"), ("$", None))
        self.good("PATCH", f"{CORE}/secrets/keys", {"stringData": {"one": "ssh-ed25519 AAAA second"}}, headers={"Content-Type": "application/merge-patch+json"})
        self.await_guest("agent", "cat /home/demo/.ssh/authorized_keys", lambda text: text == "ssh-ed25519 AAAA second")
        self.remove("agent")


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Faults of disk and clock for a server that is started with faults.c in it."""
import mmap
import os
import struct
import subprocess


class FaultLibrary:
    """`environment` is what the server is started with; set() says what is wrong from now on, and without arguments that nothing is."""

    def __init__(self, folder):
        library, control = os.path.join(folder, "faults.so"), os.path.join(folder, "faults")
        subprocess.run(["clang-19", "-shared", "-fPIC", "-O2", "-o", library, os.path.join(os.path.dirname(__file__), "faults.c"), "-ldl"], check=True)
        with open(control, "wb") as file:
            file.write(bytes(mmap.PAGESIZE))
        with open(control, "r+b") as file:
            self.control = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.environment = {"LD_PRELOAD": library, "VIRTGATE_FAULTS": control}

    def set(self, clock_step_s=0, sync_hangs=0, disk_full=0, frozen=0):
        self.control[:32] = struct.pack("=qqqq", clock_step_s, sync_hangs, disk_full, frozen)

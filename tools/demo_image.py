#!/usr/bin/env python3
"""demo_image.py FOLDER: a small guest for first steps and tests, from Debian's kernel, busybox, dropbear and QEMU's agent.

Makes in FOLDER: vmlinuz and initrd, demo.qcow2 (boots by BIOS and UEFI) and demo.tar, an OCI archive of a container disk
that has all three. Needs no root: nothing is mounted and nothing installed. What is there and as new as its sources stays.
The guest's own files are in tools/demo_guest."""
import collections
import fcntl
import hashlib
import io
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
GUEST = os.path.join(HERE, "demo_guest")

PACKAGES = ["busybox-static", "dropbear-bin", "qemu-guest-agent", "libglib2.0-0", "libpcre2-8-0", "libudev1", "libnuma1",
            "liburing2", "libtomcrypt1", "libtommath1", "libgmp10", "libcrypt1", "zlib1g", "libc6", "systemd-boot-efi"]
# What differs by architecture: Debian's name for it, systemd-boot's suffix, where programs look for their loader, whether guests boot by BIOS as well,
# and the serial console.
Machine = collections.namedtuple("Machine", "debian efi loader bios console")
MACHINES = {
    "x86_64": Machine("amd64", "x64", ("lib64", "lib/x86_64-linux-gnu"), True, "ttyS0,115200"),
    "aarch64": Machine("arm64", "aa64", ("lib/ld-linux-aarch64.so.1", "aarch64-linux-gnu/ld-linux-aarch64.so.1"), False, "ttyAMA0"),
}
ARCHITECTURE = platform.machine()
if ARCHITECTURE not in MACHINES:
    sys.exit(f"demo_image.py: no demo guest for {ARCHITECTURE}; known: {', '.join(MACHINES)}")
MACHINE = MACHINES[ARCHITECTURE]
TRIPLET = f"{ARCHITECTURE}-linux-gnu"
if MACHINE.bios:
    PACKAGES.append("syslinux-common")
KERNEL = f"linux-image-cloud-{MACHINE.debian}"
PROGRAMS = ["/usr/sbin/qemu-ga", "/usr/sbin/dropbear", "/usr/bin/dropbearkey"]
# What a prompt, a network and the agent need; then the rest.
FIRST = ["virtio_pci", "virtio_blk", "virtio_net", "virtio_console", "isofs", "nls_utf8"]
LATER = ["button", "evdev", "virtio_scsi", "sr_mod", "sd_mod", "virtio-rng", "virtio_balloon", "virtio_mem", "virtiofs",
         "vmw_vsock_virtio_transport", "vfat", "nls_cp437", "nls_iso8859-1"]
# One that libraries load by name.
BESIDES = ["libnss_files.so.2"]

MIB = 1024 * 1024
BOOT_START, BOOT_SIZE, DATA_SIZE = MIB, 38 * MIB, 16 * MIB
COMMAND_LINE = (f"console=tty1 console={MACHINE.console} quiet loglevel=3 mitigations=off no_timer_check random.trust_cpu=on "
                "cryptomgr.notests memhp_default_state=online panic=5")


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"demo_image.py: {command[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def kernel_package():
    """The package that stands behind the name without a version."""
    for line in run("apt-cache", "depends", KERNEL).splitlines():
        if line.strip().startswith("Depends: linux-image-"):
            return line.split()[-1]
    sys.exit(f"demo_image.py: apt knows no {KERNEL}; `apt-get update` may help")


def fetch_packages(folder):
    """Unpacked side by side."""
    # Another list is another folder.
    root = os.path.join(folder, "root-" + hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:8])
    packages = os.path.join(folder, "packages")
    if os.path.isdir(root):
        return root
    shutil.rmtree(packages, ignore_errors=True)
    os.makedirs(packages)
    # Root may write here, and apt's own user may not.
    as_root = ["-o", "APT::Sandbox::User=root"] if os.getuid() == 0 else []
    run("apt-get", "download", "-q", *as_root, kernel_package(), *PACKAGES, cwd=packages)
    shutil.rmtree(root + ".part", ignore_errors=True)
    for name in sorted(os.listdir(packages)):
        run("dpkg-deb", "-x", os.path.join(packages, name), root + ".part")
    os.rename(root + ".part", root)
    return root


class Archive:
    """The cpio format that the kernel reads ("newc"), with owners and devices as given here and not as on this disk."""

    def __init__(self):
        self.out, self.number, self.folders = io.BytesIO(), 0, set()

    def add(self, name, mode, content=b"", device=(0, 0), owner=0):
        self.number += 1
        encoded = name.encode() + b"\0"
        fields = [self.number, mode, owner, owner, 1, 0, len(content), 0, 0, *device, len(encoded), 0]
        self.out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + encoded)
        self.pad()
        self.out.write(content)
        self.pad()

    def pad(self):
        self.out.write(b"\0" * (-self.out.tell() % 4))

    def folder(self, path, mode=0o755, owner=0):
        if path in self.folders or not path:
            return
        self.folder(os.path.dirname(path))
        self.folders.add(path)
        self.add(path, stat.S_IFDIR | mode, owner=owner)

    def file(self, path, content, mode):
        self.folder(os.path.dirname(path))
        self.add(path, stat.S_IFREG | mode, content)

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        self.add(path, stat.S_IFLNK | 0o777, target.encode())

    def bytes(self):
        self.add("TRAILER!!!", 0)
        return self.out.getvalue()


def read(path):
    with open(path, "rb") as file:
        return file.read()


# On some systems these are not in everybody's PATH.
os.environ["PATH"] += ":/usr/sbin:/sbin"


def needed_libraries(path):
    """The names that an ELF file is linked with."""
    lines = run("objdump", "-p", path).splitlines()
    return [line.split()[-1] for line in lines if line.strip().startswith("NEEDED")]


def add_programs(archive, root):
    libraries = {}
    for folder, _, names in os.walk(root):
        if TRIPLET in folder or folder.endswith("/lib64"):
            libraries.update({name: os.path.join(folder, name) for name in names})
    queue, done = list(BESIDES), set()
    for program in PROGRAMS:
        archive.file(program[1:], read(root + program), 0o755)
        queue += needed_libraries(root + program)
    while queue:
        name = queue.pop()
        if name in done:
            continue
        done.add(name)
        path = os.path.realpath(libraries[name])
        archive.file(f"lib/{TRIPLET}/{name}", read(path), 0o755)
        queue += needed_libraries(path)
    archive.link(*MACHINE.loader)


def add_busybox(archive, root):
    busybox = os.path.join(root, "bin/busybox")
    archive.file("bin/busybox", read(busybox), 0o755)
    own = set(os.listdir(os.path.join(GUEST, "sbin")))
    for applet in run(busybox, "--list-full").split():
        if os.path.basename(applet) not in own | {"busybox"}:
            archive.link(applet, "/bin/busybox")


def module_needs(path):
    """What a module says of itself: the modules that must be there before it."""
    for text in read(path).split(b"\0"):
        if text.startswith(b"depends="):
            return [name for name in text[8:].decode().split(",") if name]
    return []


def add_modules(archive, root):
    modules = {}
    for folder, _, names in os.walk(os.path.join(root, "lib/modules")):
        modules.update({name[:-3].replace("-", "_"): os.path.join(folder, name) for name in names if name.endswith(".ko")})
    order = []

    def visit(name):
        name = name.replace("-", "_")
        if name not in modules or name in order:  # built in
            return
        for needed in module_needs(modules[name]):
            visit(needed)
        order.append(name)
        archive.file(f"lib/modules/{name}.ko", read(modules[name]), 0o644)

    for file, names in (("first", FIRST), ("later", LATER)):
        before = len(order)
        for name in names:
            visit(name)
        archive.file(f"lib/modules/{file}", "".join(f"{name}.ko\n" for name in order[before:]).encode(), 0o644)


def make_initrd(root):
    archive = Archive()
    for folder in ("proc", "sys", "dev", "run", "tmp", "data", "root", "var/log", "var/run"):
        archive.folder(folder, {"tmp": 0o1777, "root": 0o700}.get(folder, 0o755))
    archive.folder("home")
    archive.folder("home/demo", owner=1000)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    for folder, _, names in sorted(os.walk(GUEST)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            archive.file(os.path.relpath(path, GUEST), read(path), stat.S_IMODE(os.stat(path).st_mode) & 0o755)
    add_busybox(archive, root)
    add_programs(archive, root)
    add_modules(archive, root)
    return subprocess.run(["gzip", "-9n"], input=archive.bytes(), stdout=subprocess.PIPE, check=True).stdout


def make_data(path):
    run("mke2fs", "-q", "-t", "ext4", "-L", "demo-data", "-O", "^has_journal", "-m", "0", path, f"{DATA_SIZE // 1024}k")


def partition(kind, start, size, active):
    """One of the four rows of a master boot record; cylinders are beyond what it can say."""
    return bytes([0x80 if active else 0, 0xFE, 0xFF, 0xFF, kind, 0xFE, 0xFF, 0xFF]) + \
        (start // 512).to_bytes(4, "little") + (size // 512).to_bytes(4, "little")


def make_disk(folder, root):
    """A master boot record, a FAT partition that both kinds of firmware boot from, and one to keep things in."""
    raw, data = os.path.join(folder, "demo.raw"), os.path.join(folder, "data.part")
    data_start = BOOT_START + BOOT_SIZE
    starter = read(os.path.join(root, "usr/lib/syslinux/mbr/mbr.bin")) if MACHINE.bios else b""
    record = bytearray(starter[:440].ljust(512, b"\0"))
    record[440:444] = b"vgdm"
    record[446:478] = partition(0xEF, BOOT_START, BOOT_SIZE, True) + partition(0x83, data_start, DATA_SIZE, False)
    record[510:512] = b"\x55\xaa"
    make_data(data)
    with open(raw, "wb") as disk:
        disk.write(record)
        disk.seek(data_start)
        disk.write(read(data))
        disk.truncate(data_start + DATA_SIZE)
    os.unlink(data)
    fill_boot_partition(folder, root, f"{raw}@@{BOOT_START}")
    if MACHINE.bios:
        run("syslinux", "--install", "--offset", str(BOOT_START), raw)
    qcow2 = os.path.join(folder, "demo.qcow2")
    run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, qcow2 + ".part")
    os.rename(qcow2 + ".part", qcow2)
    os.unlink(raw)


def fill_boot_partition(folder, root, image):
    """SYSLINUX for BIOS, systemd-boot for UEFI: each small, and each the one that works there."""
    settings = {
        "/syslinux.cfg": f"DEFAULT demo\nPROMPT 0\nTIMEOUT 0\nLABEL demo\n  LINUX /vmlinuz\n  INITRD /initrd\n  APPEND {COMMAND_LINE}\n",
        "/loader/loader.conf": "timeout 0\ndefault demo.conf\n",
        "/loader/entries/demo.conf": f"title demo\nlinux /vmlinuz\ninitrd /initrd\noptions {COMMAND_LINE}\n"}
    run("mformat", "-i", image, "-F", "-T", str(BOOT_SIZE // 512), "-h", "64", "-s", "32", "-H", str(BOOT_START // 512),
        "-v", "DEMO", "::")
    run("mmd", "-i", image, "::/EFI", "::/EFI/BOOT", "::/loader", "::/loader/entries")
    for source, target in ((os.path.join(folder, "vmlinuz"), "/vmlinuz"), (os.path.join(folder, "initrd"), "/initrd"),
                           (os.path.join(root, f"usr/lib/systemd/boot/efi/systemd-boot{MACHINE.efi}.efi"), f"/EFI/BOOT/BOOT{MACHINE.efi.upper()}.EFI")):
        run("mcopy", "-i", image, source, "::" + target)
    for target, text in settings.items():
        run("mcopy", "-i", image, "-", "::" + target, input=text)


def make_layer(folder):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as layer:
        for name, target in (("demo.qcow2", "disk/demo.qcow2"), ("vmlinuz", "boot/vmlinuz"), ("initrd", "boot/initrd")):
            content = read(os.path.join(folder, name))
            entry = tarfile.TarInfo(target)
            entry.size, entry.mode, entry.uid, entry.gid = len(content), 0o444, 107, 107
            layer.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def make_archive(folder):
    """An OCI archive, which skopeo, podman and `virtgate image load` read."""
    blobs = {}

    def blob(content, media_type, **more):
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content), **more}

    layer = make_layer(folder)
    kind = "application/vnd.oci.image."
    config = {"architecture": MACHINE.debian, "os": "linux", "config": {},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}
    manifest = {"schemaVersion": 2, "mediaType": kind + "manifest.v1+json",
                "config": blob(json.dumps(config).encode(), kind + "config.v1+json"),
                "layers": [blob(layer, kind + "layer.v1.tar")]}
    listed = blob(json.dumps(manifest).encode(), kind + "manifest.v1+json")
    files = {"oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode(),
             "index.json": json.dumps({"schemaVersion": 2, "manifests": [listed]}).encode()}
    files.update({f"blobs/sha256/{digest}": content for digest, content in blobs.items()})
    path = os.path.join(folder, "demo.tar")
    with tarfile.open(path + ".part", mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    os.rename(path + ".part", path)


def version():
    """Of everything that the result is made from."""
    digest = hashlib.sha256(read(os.path.abspath(__file__)))
    for folder, _, names in sorted(os.walk(GUEST)):
        for name in sorted(names):
            digest.update(os.path.relpath(os.path.join(folder, name), GUEST).encode() + read(os.path.join(folder, name)))
    return digest.hexdigest()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    # Tests that run side by side have it built once.
    lock = open(os.path.join(folder, ".lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    mark, wanted = os.path.join(folder, "version"), version()
    if os.path.exists(mark) and read(mark).decode() == wanted:
        return
    root = fetch_packages(folder)
    boot = os.path.join(root, "boot")
    kernel = next(name for name in sorted(os.listdir(boot)) if name.startswith("vmlinuz-"))
    shutil.copyfile(os.path.join(boot, kernel), os.path.join(folder, "vmlinuz"))
    with open(os.path.join(folder, "initrd"), "wb") as file:
        file.write(make_initrd(root))
    make_disk(folder, root)
    make_archive(folder)
    with open(mark, "w") as file:
        file.write(wanted)


if __name__ == "__main__":
    main()

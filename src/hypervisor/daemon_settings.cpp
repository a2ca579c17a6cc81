#include "hypervisor/daemon_settings.h"

#include <fmt/format.h>

#include "base/hypervisor_limits.h"

namespace vg::hypervisor {

std::string daemon_config_text(std::string_view host_uuid) {
  // As many workers as there are calls that may wait for long, and a few for others: migrations come in by them, too.
  constexpr std::size_t workers = limits::hypervisor_control_threads + limits::hypervisor_question_threads +
                                  limits::hypervisor_job_threads + limits::hypervisor_watch_threads +
                                  limits::hypervisor_ending_threads + limits::hypervisor_kill_threads + 8;
  return fmt::format(
      "host_uuid = \"{1}\"\n"
      "auth_unix_rw = \"none\"\n"
      "auth_unix_ro = \"none\"\n"
      "min_workers = 2\n"
      "max_workers = {0}\n"
      "max_client_requests = {0}\n"  // we are one client; with the usual five, five silent agents hold up every guest
      "prio_workers = 2\n"
      "admin_min_workers = 1\n"
      "admin_max_workers = 1\n"
      "log_level = 4\n"
      "log_outputs = \"4:stderr\"\n",
      workers, host_uuid);
}

std::string qemu_config_text(bool emulated) {
  std::string text =
      "stdio_handler = \"file\"\n"  // no virtlogd
      "security_driver = \"none\"\n"
      "remember_owner = 0\n"  // needs the trusted attributes of files
      "namespaces = [ ]\n"
      "seccomp_sandbox = 1\n"
      "dump_guest_core = 0\n"
      // A helper process would have the network of the guest, whose ports we forward through QEMU's monitor.
      "slirp_helper = \"/dev/null/none\"\n";
  // At every start libvirt asks QEMU for each of some 400 properties of the CPU, or, where it believes that QEMU cannot
  // tell what is unavailable, for all CPUID words at once: half of the time to Running. Words lack what real CPUs tell
  // by MSR, which emulated ones do not have.
  if (emulated) text += "capability_filters = [ \"cpu-unavailable-features\" ]\n";
  return text;
}

std::vector<std::string> daemon_command(std::vector<std::string> reaper, const std::string& program,
                                        const DaemonPlaces& places) {
  for (const std::string& word :
       {program, std::string("--config"), places.daemon_config(), std::string("--pid-file"), places.pid_file()})
    reaper.push_back(word);
  return reaper;
}

std::vector<std::string> daemon_environment(const DaemonPlaces& places, bool own_drivers, const std::string& guard) {
  std::vector<std::string> all = {
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "LANG=C",
      "HOME=" + places.kept,
      "TMPDIR=" + places.data(),
      "XDG_RUNTIME_DIR=" + places.runtime,
      "XDG_CONFIG_HOME=" + places.config_link(),
      "XDG_CACHE_HOME=" + places.cache(),
      "XDG_DATA_HOME=" + places.data(),
      // A heap for each of its many threads would keep what every guest once needed.
      "MALLOC_ARENA_MAX=2",
  };
  if (own_drivers) all.push_back("LIBVIRT_DRIVER_DIR=" + places.drivers());
  if (!guard.empty()) all.push_back("LD_PRELOAD=" + guard);
  return all;
}

}  // namespace vg::hypervisor

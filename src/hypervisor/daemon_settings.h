// What the private libvirtd is told: pure texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vg::hypervisor {

// Where its files are. `kept` is what outlives a boot, `runtime` what does not.
struct DaemonPlaces {
  std::string kept, runtime;

  // A link below the runtime folder: libvirt puts the sockets of monitors below the folder of its configuration, and
  // the address of a socket is short.
  std::string config_link() const { return runtime + "/c"; }
  std::string config() const { return kept + "/config"; }
  std::string cache() const { return kept + "/cache"; }
  std::string data() const { return kept + "/data"; }
  std::string drivers() const { return kept + "/drivers"; }
  std::string identity() const { return kept + "/host_uuid"; }
  std::string reached() const { return kept + "/reached"; }
  std::string log() const { return kept + "/libvirtd.log"; }
  std::string guest_logs() const { return cache() + "/libvirt/qemu/log"; }
  std::string capabilities() const { return cache() + "/libvirt/qemu/cache/capabilities"; }
  std::string daemon_config() const { return config() + "/libvirt/libvirtd.conf"; }
  std::string qemu_config() const { return config() + "/libvirt/qemu.conf"; }
  std::string socket() const { return runtime + "/libvirt/libvirt-sock"; }
  std::string status() const { return runtime + "/libvirt/qemu/run"; }
  // Of single domains: sockets of monitors and keys, sockets of channels.
  std::vector<std::string> domain_folders() const {
    return {config() + "/libvirt/qemu/lib", config() + "/libvirt/qemu/channel/target"};
  }
  std::string pid_file() const { return runtime + "/libvirtd.pid"; }
  // Beside the folders that libvirtd and QEMU can write: the reaper's socket, and what is loaded into QEMU.
  std::string reaper() const { return runtime + ".reaper"; }
  std::vector<std::string> guard_folders() const { return {kept + ".guard", runtime + ".guard"}; }
};

std::string daemon_config_text(std::string_view host_uuid);
std::string qemu_config_text(bool emulated);
// `reaper` stands in front.
std::vector<std::string> daemon_command(std::vector<std::string> reaper, const std::string& program,
                                        const DaemonPlaces& places);
// Nothing of ours but these: neither a session bus nor another user's folders. `guard`: what QEMU is to load first,
// which libvirt hands on to it.
std::vector<std::string> daemon_environment(const DaemonPlaces& places, bool own_drivers, const std::string& guard);

}  // namespace vg::hypervisor

// Where files and sockets of a VMI are (spec domain 1.5). The launcher's places are the default; whoever runs guests
// itself puts patterns of its own in their place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace vg::domain {

enum class Path : std::uint8_t {
  vnc,
  serial,
  serial_log,
  usb_redirection,
  claim_image,  // the file of a claim: vmi_disks
  host_disk,
  block_device,
  hotplug_image,
  hotplug_device,
  container_disk,
  kernel_boot,
  overlay,
  empty_disk,
  cloud_init_no_cloud,
  cloud_init_config_drive,
  ignition,
  config_map,
  secret,
  downward_api,
  sysprep,
  service_account,
  downward_metrics,
  downward_metrics_channel,
  acpi_table,
  nvram,
  changed_blocks,
  virtiofs,
  reservations,
  passt_log,
  firmware_log,
  random,
  count,
};

// What stands for {word} in a pattern.
using PathWords = std::initializer_list<std::pair<std::string_view, std::string_view>>;

class Paths {
 public:
  Paths();  // the launcher's
  // A context is of one VMI, so a pattern may be a path; {volume}, {file} and {index} stand where the one that it
  // replaces has them, {uid}, {namespace} and {name} where that one has any of the three.
  void set(Path path, std::string pattern) { patterns_[static_cast<std::size_t>(path)] = std::move(pattern); }
  // Words are put in as they are, and not looked into again.
  std::string at(Path path, PathWords words = {}) const;

 private:
  std::array<std::string, static_cast<std::size_t>(Path::count)> patterns_;
};

// As a name in a path: not empty, without a slash, and not one of the two that lead elsewhere.
bool is_file_name(std::string_view text);
// What follows the last slash, as Go's path library has it: trailing slashes do not count, "." of nothing.
std::string_view base_name(std::string_view path);

}  // namespace vg::domain

// What a guest would tell of itself, made up: addresses, names, operating system. The same for a VMI whenever it is
// asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::simulated {

// The same for a text in every run of the program.
std::uint32_t hash(std::string_view text);
std::string made_up_ip(const json::Object& vmi, std::size_t interface);
std::string made_up_mac(const json::Object& vmi, std::size_t interface);
// Where a node would listen.
std::string made_up_node_address(std::string_view node);

struct InterfaceOptions {
  bool guest_agent = false;
  std::string_view first_ip = {};  // of the first interface; empty: made up
};
// Entries of status.interfaces (spec vmi-lifecycle 3.10) for the interfaces of the spec that are not to be absent. What
// `old` says besides of one is kept.
json::Array interfaces_of(const json::Object& vmi, const json::Array* old, const InterfaceOptions& options,
                          const json::StoragePtr& storage);

// status.guestOSInfo
json::Object guest_os(const json::StoragePtr& storage);
// What the handler answers to guestosinfo, userlist and filesystemlist.
json::Object guest_info(const json::Object& vmi, const json::StoragePtr& storage);
json::Object user_list(const json::StoragePtr& storage);
json::Object filesystem_list(const json::StoragePtr& storage);

}  // namespace vg::simulated

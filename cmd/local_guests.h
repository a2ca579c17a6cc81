// The processes of guests of this machine's nodes, whether or not their node, or its libvirtd, is there: libvirt has
// each QEMU hold a lock on the file that has its number, for as long as it lives.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ports/guest_processes.h"

namespace vg::cmd {

class LocalGuests final : public GuestProcesses {
 public:
  // `state`: the state folder, absolute. `foreign`: guests are run by another libvirt, whose files are not known.
  LocalGuests(std::string state, bool foreign) : state_(std::move(state)), foreign_(foreign) {}

  std::optional<std::string> may_run(std::string_view node, std::string_view ns, std::string_view vmi) const override;
  // Nodes that were made here, in order, and have guests which run; or of which that cannot be known.
  std::vector<std::string> nodes_in_use() const;
  // Where the files are that may_run() looks at, of all nodes that were ever made here: those that this start does not
  // have are asked about as well.
  std::vector<std::string> folders() const;

 private:
  std::vector<std::string> nodes() const;  // in order
  bool is_own(std::string_view node) const;
  std::string state_;
  bool foreign_;
};

// The process that holds the lock on the file; 0: none does, or there is no such file. Nothing: it cannot be told.
std::optional<int> lock_holder(const std::string& file);

}  // namespace vg::cmd

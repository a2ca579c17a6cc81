// A domain that runs, brought up to date with its VMI (spec vmi-lifecycle 3.4, launch 4).
#pragma once

#include <map>
#include <set>
#include <string>

#include "handler/sync/guest.h"
#include "handler/sync/starting.h"

namespace vg::handler {

// What is known of the volumes of a guest beside its document; as long as the process lives.
struct Volumes {
  std::set<std::string, std::less<>> mounted;
  std::map<std::string, std::string, std::less<>> dumps;  // files that were written, with why they were not
  std::map<std::string, std::string, std::less<>> sizes;  // capacities of claims that guests know of, by volume
};

class Updater {
 public:
  Updater(LoopParts& parts, Starter& starter) : parts_(parts), starter_(starter) {}

  Task<Outcome> update(const Work& work, const guests::Case& one, Volumes& volumes);
  // Before the first start: what is hotplugged must be in its place. True when everything is.
  Task<Result<bool>> mount_all(const Work& work, Volumes& volumes);

 private:
  Task<Result<void>> resume(const Work& work, const guests::Case& one, Outcome& outcome);
  Task<Result<void>> change_disks(const Work& work, const guests::DomainFacts& live, Volumes& volumes,
                                  Outcome& outcome);
  Task<Result<void>> mount_wanted(const Work& work, Volumes& volumes, Outcome& outcome);
  Task<Result<void>> unmount_unwanted(const Work& work, Volumes& volumes);
  void keep_limits(const Work& work);
  Task<void> dump_memory(const Work& work, Volumes& volumes);
  Task<void> grow_disks(const Work& work, const guests::DomainFacts& live, Volumes& volumes);

  LoopParts& parts_;
  Starter& starter_;
};

}  // namespace vg::handler

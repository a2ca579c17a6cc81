// The way of a VMI from Scheduled to a domain that runs (spec vmi-lifecycle 3.4, launch 1.1 to 3).
#pragma once

#include <memory>
#include <string>

#include "handler/sync/guest.h"
#include "handler/sync/networking.h"

namespace vg::handler {

class Starter {
 public:
  // `wake`: has a VMI looked at again. On the core.
  Starter(LoopParts& parts, std::function<void(const Key&)> wake)
      : parts_(parts), wake_(std::move(wake)), networking_(parts) {}

  // Defines and starts it, or says what is not ready.
  Task<Outcome> start(const Work& work);

  // MIG-D06: what must be here before the guest comes. False: something is on its way.
  Task<Result<bool>> prepare_target(const Work& work);
  Networking& networking() { return networking_; }

  // What the domain should be now, for what is changed while it runs: nothing is made.
  Result<guests::Built> build_again(const Work& work, guests::Bridges bridges = {}) const;
  // Links claims of hotplugged volumes to where the hypervisor looks for them.
  Task<Result<void>> mount(const Work& work, std::string_view volume);
  launch::Wanted wanted(const Work& work, std::shared_ptr<const Objects> objects,
                        std::vector<launch::ContainerImage> images) const;

 private:
  Task<Result<std::optional<GuestFiles::Images>>> fetch_images(const Work& work);
  Task<Result<std::shared_ptr<const Objects>>> fetch_mounted(const Work& work, const GuestFiles::Images& images);
  Task<Result<void>> fetch(const Work& work, const std::vector<std::pair<std::string, std::string>>& names,
                           Objects& objects);
  Task<Result<void>> define_and_start(const Work& work, const launch::Wanted& wanted, Outcome& outcome);
  Task<Result<std::string>> define(const guests::Built& built);
  Task<Result<void>> clear_earlier(const Work& work);
  void remember(const Work& work) const;
  std::string source_guest(const Work& work) const;
  Result<guests::Built> build(const Work& work, const launch::Wanted& wanted, guests::Bridges bridges) const;

  LoopParts& parts_;
  const std::function<void(const Key&)> wake_;
  Networking networking_;
};

}  // namespace vg::handler

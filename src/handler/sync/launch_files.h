// Guest files as they are on this machine.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "handler/place.h"
#include "handler/sync/guest_files.h"
#include "images/pull_backoff.h"

namespace vg::images {
class ImageStore;
}

namespace vg::handler {

class LaunchFiles final : public GuestFiles {
 public:
  // The core and the store outlive this.
  LaunchFiles(Core& core, NodePlace place, images::ImageStore& store);
  ~LaunchFiles() override;

  launch::Folders folders(std::string_view ns, std::string_view name, std::string_view uid) const override;
  Result<std::optional<Images>> images(const std::string& uid, const json::Value& vmi,
                                       std::shared_ptr<const Objects> objects, std::function<void()> came) override;
  void forget(const std::string& uid) override;

  Result<launch::Plan> plan(const launch::Wanted& wanted) const override;
  Result<std::vector<launch::Step>> plan_before_start(const launch::Wanted& wanted,
                                                      std::string_view defined_xml) const override;
  Result<std::vector<launch::Step>> plan_hotplug(const launch::Wanted& wanted, std::string_view volume) const override;
  Result<std::vector<launch::Step>> plan_growth(const launch::Wanted& wanted,
                                                const std::set<std::string, std::less<>>& volumes) const override;
  void put_paths(const launch::Wanted& wanted, domain::DomainContext& context) const override;
  Task<Result<launch::Made>> carry_out(Core& core, std::vector<launch::Step> steps) override;
  Task<Result<void>> clear(Core& core, launch::Folders folders) override;
  Task<Result<void>> clear_hotplug(Core& core, launch::Folders folders, std::string volume) override;

 private:
  // A pull may take minutes, so each has a thread of its own, and there are few.
  struct Fetch {
    std::optional<Result<Images>> result;
    std::jthread thread;
  };
  void begin(const std::string& uid, const json::Value& vmi, std::shared_ptr<const Objects> objects,
             std::function<void()> came);
  Result<std::optional<Images>> on_its_way(const std::string& uid) const;

  Core& core_;
  const NodePlace place_;
  images::ImageStore& store_;
  std::map<std::string, Fetch> fetches_;
  images::PullBackOff back_off_;
  std::size_t running_ = 0;
  std::shared_ptr<LaunchFiles*> alive_ = std::make_shared<LaunchFiles*>(this);  // what was posted looks here first
};

}  // namespace vg::handler

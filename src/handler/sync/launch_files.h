// Guest files as they are on this machine.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "handler/place.h"
#include "handler/sync/guest_files.h"
#include "images/fair_slots.h"
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
  std::optional<Awaited> awaited(const std::string& uid) const override;

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
  // What is here is looked up beside what registries are asked for: nobody who has it all waits for a pull of others.
  enum class Lane : std::uint8_t { lookup, network };
  // Which image a registry is asked for, told by the thread that does.
  struct Said {
    std::mutex mutex;
    std::string reference;
  };
  // The images of a VMI, until they are forgotten.
  struct Fetch {
    std::string ns;
    std::shared_ptr<const json::Document> vmi;
    std::shared_ptr<const Objects> objects;
    std::function<void()> came;
    Lane lane = Lane::lookup;
    images::FairSlots::Id run = 0;
    std::shared_ptr<Said> said = std::make_shared<Said>();
    std::optional<Result<Images>> result = {};
  };
  // A thread that looks or asks, or will when it has a place. It ends soon after it was told to, and is kept until
  // then.
  struct Run {
    std::string uid;
    Lane lane = Lane::lookup;
    bool gives_way = false;  // to another namespace: it begins anew
    std::jthread thread = {};
  };
  using Found = Result<std::optional<Images>>;
  images::FairSlots& slots(Lane lane) { return lane == Lane::lookup ? lookups_ : pulls_; }
  void line_up(const std::string& uid, Fetch& fetch, Lane lane);
  void pump();
  void start(images::FairSlots::Id id);
  void ended(images::FairSlots::Id id, Found found);
  Result<std::optional<Images>> on_its_way(const std::string& uid) const;

  Core& core_;
  const NodePlace place_;
  images::ImageStore& store_;
  std::map<std::string, Fetch> fetches_;
  images::PullBackOff back_off_;
  images::FairSlots lookups_, pulls_;
  images::FairSlots::Id last_run_ = 0;
  std::shared_ptr<LaunchFiles*> alive_ = std::make_shared<LaunchFiles*>(this);  // what was posted looks here first
  std::map<images::FairSlots::Id, Run> runs_;  // the last member: threads end before what they use
};

}  // namespace vg::handler

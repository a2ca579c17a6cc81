// The files of guests, as the loop of a node asks for them: src/launch and the image store, or a stand-in of the tests.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "domain/context.h"
#include "json/document.h"
#include "launch/launch.h"

namespace vg::handler {

// Secrets and ConfigMaps that a VMI mounts, by kind and name; null: there is none.
using Objects = std::map<std::pair<std::string, std::string>, std::shared_ptr<const json::Document>>;
launch::Mounted look_in(const std::shared_ptr<const Objects>& objects);

class GuestFiles {
 public:
  using Images = std::vector<launch::ContainerImage>;
  virtual ~GuestFiles() = default;

  virtual launch::Folders folders(std::string_view ns, std::string_view name, std::string_view uid) const = 0;

  // On the core. Nothing: they are on their way, and `came` is called on the core when they are there or cannot be
  // had. What was asked for is remembered by the uid until forget().
  virtual Result<std::optional<Images>> images(const std::string& uid, const json::Value& vmi,
                                               std::shared_ptr<const Objects> objects, std::function<void()> came) = 0;
  // Nobody waits for them any more: what is on its way ends.
  virtual void forget(const std::string& uid) = 0;
  // What a VMI whose images are on their way waits for, as its condition says it; nothing: it takes a moment.
  struct Awaited {
    std::string reason, message;
  };
  virtual std::optional<Awaited> awaited(const std::string& uid) const = 0;

  virtual Result<launch::Plan> plan(const launch::Wanted& wanted) const = 0;
  virtual Result<std::vector<launch::Step>> plan_before_start(const launch::Wanted& wanted,
                                                              std::string_view defined_xml) const = 0;
  virtual Result<std::vector<launch::Step>> plan_hotplug(const launch::Wanted& wanted,
                                                         std::string_view volume) const = 0;
  virtual Result<std::vector<launch::Step>> plan_growth(const launch::Wanted& wanted,
                                                        const std::set<std::string, std::less<>>& volumes) const = 0;
  virtual void put_paths(const launch::Wanted& wanted, domain::DomainContext& context) const = 0;

  virtual Task<Result<launch::Made>> carry_out(Core& core, std::vector<launch::Step> steps) = 0;
  virtual Task<Result<void>> clear(Core& core, launch::Folders folders) = 0;
  virtual Task<Result<void>> clear_hotplug(Core& core, launch::Folders folders, std::string volume) = 0;
};

}  // namespace vg::handler

// What a story is told from, read at the API server as whoever asks may read it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "json/value.h"
#include "kube/client.h"
#include "story/verdict.h"

namespace vg::kube {

class StoryFacts {
 public:
  struct Unread {
    std::string plural, why;
  };
  // Of each list at most `list_max` objects (0: all). Whom the asker's views name and the client outlive this.
  StoryFacts(Client& client, Asker asker, std::string ns, std::size_t list_max = 0)
      : client_(client), asker_(asker), ns_(std::move(ns)), list_max_(list_max) {}

  // The object itself must be there and readable; what belongs to it is left out where it is not.
  Task<Result<void>> gather(Core& core, story::Subject subject, std::string name);

  const json::Value& facts() const { return facts_; }
  json::Value& facts() { return facts_; }
  const std::vector<Unread>& unread() const { return unread_; }
  const std::string& ns() const { return ns_; }
  void set_namespace(std::string ns) { ns_ = std::move(ns); }

 private:
  Task<Result<void>> need(Core& core, std::string_view key, ResourceName resource, std::string name);
  Task<void> want(Core& core, std::string_view key, ObjectName object);
  Task<void> want_list(Core& core, std::string_view key, ResourceName resource, std::string_view ns,
                       std::string_view selector = {});

  Client& client_;
  const Asker asker_;
  std::string ns_;
  const std::size_t list_max_;
  json::Value facts_ = json::Object();
  std::vector<Unread> unread_;
};

}  // namespace vg::kube

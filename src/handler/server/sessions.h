// Who is at the console or display of a guest: one at a time (spec subresources 3.6), or several who all asked to
// share.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core.h"

namespace vg::handler {

class Sessions {
 public:
  // How a session is ended from elsewhere; called on its core, once at most.
  using End = std::function<void()>;

  // A place that is held until this goes.
  class Place {
   public:
    Place() = default;
    Place(Sessions& sessions, std::string key, std::shared_ptr<const int> token)
        : sessions_(&sessions), key_(std::move(key)), token_(std::move(token)) {}
    Place(Place&& other) noexcept
        : sessions_(std::exchange(other.sessions_, nullptr)),
          key_(std::move(other.key_)),
          token_(std::move(other.token_)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (sessions_) sessions_->leave(key_, token_);
    }
    // From here on it can be ended.
    void set_end(Core& core, End end) {
      if (sessions_) sessions_->set_end(key_, token_, core, std::move(end));
    }

   private:
    Sessions* sessions_ = nullptr;
    std::string key_;
    std::shared_ptr<const int> token_;
  };

  // Whoever is there is ended.
  Place take_over(std::string key, bool shared = false) {
    auto token = std::make_shared<const int>(0);
    std::vector<Held> before;
    {
      const std::lock_guard lock(mutex_);
      std::vector<Held>& held = held_[key];
      std::swap(before, held);
      held.push_back({.token = token, .shared = shared});
    }
    for (Held& one : before) end(one);
    return {*this, std::move(key), std::move(token)};
  }
  // Nothing when somebody is there. Two who come at once do not both get it.
  std::optional<Place> take_if_free(std::string key) {
    auto token = std::make_shared<const int>(0);
    const std::lock_guard lock(mutex_);
    std::vector<Held>& held = held_[key];
    if (!held.empty()) return std::nullopt;
    held.push_back({.token = token});
    return Place(*this, std::move(key), std::move(token));
  }
  // Beside others who share; nothing while somebody is there who does not, or as many as there may be.
  std::optional<Place> join(std::string key, std::size_t most) {
    auto token = std::make_shared<const int>(0);
    const std::lock_guard lock(mutex_);
    std::vector<Held>& held = held_[key];
    if (!std::ranges::all_of(held, &Held::shared) || held.size() >= most) return std::nullopt;
    held.push_back({.token = token, .shared = true});
    return Place(*this, std::move(key), std::move(token));
  }
  bool is_taken(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    return held_.contains(key);
  }

 private:
  struct Held {
    std::shared_ptr<const int> token;  // whose it is
    bool shared = false;
    Core* core = nullptr;
    End end = {};
  };

  static void end(Held& held) {
    if (held.core) held.core->post(std::move(held.end));
  }
  void set_end(const std::string& key, const std::shared_ptr<const int>& token, Core& core, End end_it) {
    std::unique_lock lock(mutex_);
    if (const auto found = held_.find(key); found != held_.end()) {
      const auto own = std::ranges::find(found->second, token, &Held::token);
      if (own != found->second.end()) {
        own->core = &core;
        own->end = std::move(end_it);
        return;
      }
    }
    lock.unlock();
    core.post(std::move(end_it));  // somebody came while it was being opened
  }
  void leave(const std::string& key, const std::shared_ptr<const int>& token) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(key);
    if (found == held_.end()) return;
    std::erase_if(found->second, [&](const Held& one) { return one.token == token; });
    if (found->second.empty()) held_.erase(found);
  }

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Held>> held_;  // never an empty list
};

}  // namespace vg::handler

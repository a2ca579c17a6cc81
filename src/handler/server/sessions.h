// Who is at the console or display of a guest: one at a time (spec subresources 3.6).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

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
  Place take_over(std::string key) {
    auto token = std::make_shared<const int>(0);
    Held before;
    {
      const std::lock_guard lock(mutex_);
      Held& held = held_[key];
      std::swap(before, held);
      held.token = token;
    }
    end(before);
    return {*this, std::move(key), std::move(token)};
  }
  // Nothing when somebody is there. Two who come at once do not both get it.
  std::optional<Place> take_if_free(std::string key) {
    auto token = std::make_shared<const int>(0);
    {
      const std::lock_guard lock(mutex_);
      const auto [held, is_new] = held_.try_emplace(key);
      if (!is_new) return std::nullopt;
      held->second.token = token;
    }
    return std::optional<Place>(std::in_place, *this, std::move(key), std::move(token));
  }
  bool is_taken(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    return held_.contains(key);
  }

 private:
  struct Held {
    std::shared_ptr<const int> token;  // whose it is
    Core* core = nullptr;
    End end;
  };

  static void end(Held& held) {
    if (held.core) held.core->post(std::move(held.end));
  }
  void set_end(const std::string& key, const std::shared_ptr<const int>& token, Core& core, End end_it) {
    std::unique_lock lock(mutex_);
    const auto found = held_.find(key);
    if (found != held_.end() && found->second.token == token) {
      found->second.core = &core;
      found->second.end = std::move(end_it);
      return;
    }
    lock.unlock();
    core.post(std::move(end_it));  // somebody came while it was being opened
  }
  void leave(const std::string& key, const std::shared_ptr<const int>& token) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(key);
    if (found != held_.end() && found->second.token == token) held_.erase(found);
  }

  mutable std::mutex mutex_;
  std::map<std::string, Held> held_;
};

}  // namespace vg::handler

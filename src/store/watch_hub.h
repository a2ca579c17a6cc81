// Who is to be woken by which change. It passes no changes on: a watch fetches them when its own core has time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ports/object_store.h"

namespace vg::store {

class WatchHub {
 public:
  class Subscription {
   public:
    Subscription(const WatchQuery& query, Waker waker) : waker_(std::move(waker)), resource_(query.resource) {
      topic_ = topic(query.ns.empty() ? any : query.ns, query.name.empty() ? any : query.name);
    }
    // The next matching change is to wake the watch, once.
    void arm() { armed_.store(true, std::memory_order_seq_cst); }

   private:
    friend class WatchHub;
    Waker waker_;
    std::string resource_;
    std::string topic_;
    std::atomic<bool> armed_ = false;
  };

  void add(Subscription& subscription);
  // When it returns, the waker is not running and will not be called again.
  void remove(Subscription& subscription);
  // After the changes can be read.
  void notify(const std::vector<Change>& changes);
  std::size_t size() const;

 private:
  // No namespace or name has a star in it.
  static constexpr std::string_view any = "*";
  static std::string topic(std::string_view ns, std::string_view name) {
    std::string out;
    out.reserve(ns.size() + name.size() + 1);
    return out.append(ns).append("/").append(name);
  }
  struct Subscribers {
    std::vector<Subscription*> all;
    std::uint64_t last_round = 0;  // a batch may touch a topic many times; its subscribers are looked at once
  };
  using Topics = std::unordered_map<std::string, Subscribers>;
  void wake(Topics& topics, const std::string& name);

  // Held while wakers run, which is what makes remove() final. They only post, so that is short.
  mutable std::mutex mutex_;
  std::map<std::string, Topics, std::less<>> resources_;
  std::uint64_t round_ = 0;
  std::size_t size_ = 0;
};

}  // namespace vg::store

// How many downloads of exports there are at a time: a few in all, fewer of one export, and of one namespace no more
// than leaves as many for the others.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/disk_limits.h"

namespace vg::exports {

class Places {
 public:
  // Held for as long as the download takes; false if there was none.
  class Place {
   public:
    Place(Places& all, const std::string& ns, const std::string& uid) : all_(all), ns_(ns), uid_(uid) {
      const std::lock_guard lock(all_.mutex_);
      has_ = all_.taken_ < limits::export_downloads_max &&
             count(all_.of_namespace_, ns_) < limits::export_downloads_max / 2 &&
             count(all_.of_export_, uid_) < limits::export_downloads_each_max;
      if (!has_) return;
      ++all_.taken_;
      ++all_.of_namespace_[ns_];
      ++all_.of_export_[uid_];
    }
    ~Place() {
      if (!has_) return;
      const std::lock_guard lock(all_.mutex_);
      --all_.taken_;
      leave(all_.of_namespace_, ns_);
      leave(all_.of_export_, uid_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    explicit operator bool() const { return has_; }

   private:
    Places& all_;
    const std::string ns_, uid_;
    bool has_ = false;
  };

 private:
  using Counts = std::map<std::string, int>;  // those that have none are not there
  static int count(const Counts& counts, const std::string& name) {
    const auto found = counts.find(name);
    return found == counts.end() ? 0 : found->second;
  }
  static void leave(Counts& counts, const std::string& name) {
    if (--counts[name] == 0) counts.erase(name);
  }

  std::mutex mutex_;
  int taken_ = 0;
  Counts of_namespace_, of_export_;
};

}  // namespace vg::exports

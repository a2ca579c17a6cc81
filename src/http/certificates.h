// Certificates, keys and bundles of authorities that live in files and are replaced while we run, as Secret volumes and
// certificate managers do it.
//
// A change is noticed through the directories of the files (a Secret volume swaps a symbolic link there) and, because
// notifications can be missing (network file systems, a directory that did not exist), by looking now and then. What
// counts is the content. Files that do not load change nothing: what was loaded before stays, the reason is logged, and
// it is tried again.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/status.h"
#include "http/core.h"
#include "http/core_socket.h"
#include "http/tls.h"

namespace vg::http {

struct WatchTimes {
  std::chrono::milliseconds poll{60000};
  // Files of one pair are written one after the other: wait for so long after the first sign of a change.
  std::chrono::milliseconds settle{20};
  // After a failure; doubled each time, up to the time between polls.
  std::chrono::milliseconds retry{1000};
};

// Calls `load` with the contents of all files when they are not what they were.
class FileWatcher {
 public:
  using Load = std::move_only_function<Result<void>(const std::vector<std::string>& contents)>;
  FileWatcher(Core& core, std::string what, std::vector<std::string> paths, WatchTimes times, Load load);
  // On the core, or after its loop has stopped.
  ~FileWatcher() = default;
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;

  // Looks now; for the first load, before start(). True when something new was loaded.
  Result<bool> check();
  // On the core: watches from here on.
  void start();

 private:
  Task<void> watch();
  void open_notifications();
  void watch_directories();
  void swallow_notifications();
  std::chrono::milliseconds look();

  Core& core_;
  std::string what_;
  std::vector<std::string> paths_;
  WatchTimes times_;
  Load load_;
  std::optional<std::array<unsigned char, 32>> loaded_;
  std::string last_failure_;
  int failures_ = 0;
  Socket notifications_;
  Background watching_;
};

// A certificate chain and its key. The first load may fail, too: then there is no pair until the files are right.
class CertificateWatcher {
 public:
  struct Pair {
    std::string certificate_pem;
    std::string key_pem;
    CertificateFacts facts;
  };
  struct Options {
    std::string name;  // for log and metrics, for instance "serving"
    std::string certificate_path;
    std::string key_path;
    WatchTimes times = {};
    metrics::Registry* metrics = nullptr;
  };
  // Called on the core (or in load()) with each new pair. An error means that the pair cannot be used: it is then as if
  // it had not loaded.
  using Changed = std::move_only_function<Result<void>(const Pair& pair)>;

  CertificateWatcher(Core& core, Options options, Changed changed);

  // Before start(), from the thread that made this.
  Result<void> load();
  // From any thread. The watcher must be destroyed on its core, or after the loop has stopped.
  void start();

  // From any thread.
  std::shared_ptr<const Pair> current() const;
  // False when there is no pair that is valid at that time: nobody could verify us.
  bool is_valid_at(std::chrono::system_clock::time_point now) const;

 private:
  Result<void> take(const std::vector<std::string>& contents);

  Core& core_;
  Options options_;
  Changed changed_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Pair> pair_;
  std::shared_ptr<metrics::Counter> loads_;
  std::shared_ptr<metrics::Counter> failures_;
  std::shared_ptr<metrics::Gauge> not_after_;
  FileWatcher files_;
};

// A bundle of authorities.
class BundleWatcher {
 public:
  using Changed = std::move_only_function<Result<void>(const std::string& pem)>;
  BundleWatcher(Core& core, std::string name, std::string path, WatchTimes times, Changed changed);
  Result<void> load();
  void start();
  // The PEM text; null before the first load.
  std::shared_ptr<const std::string> current() const;

 private:
  Core& core_;
  Changed changed_;
  mutable std::mutex mutex_;
  std::shared_ptr<const std::string> pem_;
  FileWatcher file_;
};

}  // namespace vg::http

#include "http/certificates.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/background.h"
#include "base/files.h"
#include "base/limits.h"
#include "base/log.h"

namespace vg::http {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::array<unsigned char, 32> digest_of(const std::vector<std::string>& contents) {
  std::array<unsigned char, 32> digest{};
  std::string all;
  for (const std::string& content : contents) all += fmt::format("{}:", content.size()) + content;
  EVP_Digest(all.data(), all.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

}  // namespace

FileWatcher::FileWatcher(Core& core, std::string what, std::vector<std::string> paths, WatchTimes times, Load load)
    : core_(core), what_(std::move(what)), paths_(std::move(paths)), times_(times), load_(std::move(load)) {}

Result<bool> FileWatcher::check() {
  std::vector<std::string> contents;
  for (const std::string& path : paths_) {
    auto text = read_file(path, limits::config_file_bytes_max);
    if (!text) return fail(std::move(text.error()));
    contents.push_back(std::move(*text));
  }
  const auto digest = digest_of(contents);
  if (loaded_ == digest) return false;
  if (auto result = load_(contents); !result) return fail(std::move(result.error()));
  loaded_ = digest;
  return true;
}

void FileWatcher::start() {
  watching_ = Background(keep_running(core_, "watching files", [this] { return watch(); }));
}

void FileWatcher::open_notifications() {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd >= 0) {
    notifications_ = Socket(core_, fd);
    return;
  }
  // Still works, only later. A pipe whose other end is gone would be readable for ever; a closed socket waits for
  // nothing, so watch() falls back to sleeping.
  log::warning("file changes cannot be watched, files are polled instead",
               {{"files", what_}, {"reason", std::generic_category().message(errno)}});
}

// Adding a directory again renews it: the one of that name may be another one by now.
void FileWatcher::watch_directories() {
  if (!notifications_.is_open()) return;
  for (const std::string& path : paths_) {
    const std::string directory = directory_of(path);
    constexpr std::uint32_t signs = IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB |
                                    IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
    if (::inotify_add_watch(notifications_.fd(), directory.c_str(), signs) < 0) {
      log::info_v(3, "the directory cannot be watched, it is polled instead",
                  {{"directory", directory}, {"reason", std::generic_category().message(errno)}});
    }
  }
}

void FileWatcher::swallow_notifications() {
  alignas(inotify_event) char buffer[4096];
  while (::read(notifications_.fd(), buffer, sizeof buffer) > 0) {
  }
}

// Checks and says when to look again at the latest.
std::chrono::milliseconds FileWatcher::look() {
  const auto result = check();
  if (result) {
    if (failures_ > 0 && !*result) log::info("the files are again as they were loaded", {{"files", what_}});
    failures_ = 0;
    last_failure_.clear();
    return times_.poll;
  }
  // Once for each reason: a broken file stays broken for hours.
  if (result.error().message != last_failure_) {
    last_failure_ = result.error().message;
    log::error("changed files cannot be loaded, the previous ones stay in use",
               {{"files", what_}, {"reason", last_failure_}});
  }
  const int doublings = std::min(failures_++, 20);
  return std::min(times_.poll, times_.retry * (1 << doublings));
}

Task<void> FileWatcher::watch() {
  open_notifications();
  watch_directories();
  // Between the first load and now something may have changed.
  auto again = look();
  for (;;) {
    if (notifications_.is_open()) {
      notifications_.set_deadline(Stream::Clock::now() + again);
      const IoError waited = co_await notifications_.until(Direction::read);
      if (waited == IoError::none) {
        co_await core_.sleep(times_.settle);
        swallow_notifications();
      } else if (waited != IoError::timed_out) {
        notifications_.close();
      }
    } else {
      co_await core_.sleep(again);
    }
    watch_directories();
    again = look();
  }
}

// --- pairs ----------------------------------------------------------------------------------------------------------

CertificateWatcher::CertificateWatcher(Core& core, Options options, Changed changed)
    : core_(core),
      options_(std::move(options)),
      changed_(std::move(changed)),
      files_(core, options_.name + " certificate", {options_.certificate_path, options_.key_path}, options_.times,
             [this](const std::vector<std::string>& contents) { return take(contents); }) {
  if (!options_.metrics) return;
  loads_ = options_.metrics->counters("virtgate_certificate_loads_total", "Certificates loaded from files.", {"name"})
               .with({options_.name});
  failures_ = options_.metrics
                  ->counters("virtgate_certificate_load_failures_total",
                             "Certificate files that changed and could not be loaded.", {"name"})
                  .with({options_.name});
  not_after_ = options_.metrics
                   ->gauges("virtgate_certificate_expires_timestamp_seconds",
                            "When the certificate in use expires, in seconds since 1970.", {"name"})
                   .with({options_.name});
}

Result<void> CertificateWatcher::load() {
  auto result = files_.check();
  if (!result) return fail(std::move(result.error()));
  return {};
}

void CertificateWatcher::start() {
  core_.post([this] { files_.start(); });
}

Result<void> CertificateWatcher::take(const std::vector<std::string>& contents) {
  const auto refuse = [&](Status why) {
    if (failures_) failures_->add();
    return fail(std::move(why));
  };
  auto facts = read_key_pair(contents[0], contents[1]);
  if (!facts) return refuse(std::move(facts.error()));
  auto pair = std::make_shared<const Pair>(Pair{contents[0], contents[1], std::move(*facts)});
  if (changed_) {
    if (auto used = changed_(*pair); !used) return refuse(std::move(used.error()));
  }
  const bool over = pair->facts.not_after <= std::chrono::system_clock::now();
  // An expired certificate is used all the same: a client that does not check is served, one that does says so.
  if (over) log::warning("the certificate has expired", {{"certificate", options_.name}});
  log::info("certificate loaded", {{"certificate", options_.name}, {"commonName", pair->facts.common_name}});
  if (loads_) loads_->add();
  if (not_after_) not_after_->set(static_cast<double>(std::chrono::system_clock::to_time_t(pair->facts.not_after)));
  const std::lock_guard lock(mutex_);
  pair_ = std::move(pair);
  return {};
}

std::shared_ptr<const CertificateWatcher::Pair> CertificateWatcher::current() const {
  const std::lock_guard lock(mutex_);
  return pair_;
}

bool CertificateWatcher::is_valid_at(std::chrono::system_clock::time_point now) const {
  const auto pair = current();
  return pair && pair->facts.not_before <= now && now < pair->facts.not_after;
}

// --- bundles --------------------------------------------------------------------------------------------------------

BundleWatcher::BundleWatcher(Core& core, std::string name, std::string path, WatchTimes times, Changed changed)
    : core_(core),
      changed_(std::move(changed)),
      file_(core, std::move(name), {std::move(path)}, times,
            [this](const std::vector<std::string>& contents) -> Result<void> {
              if (auto count = read_bundle(contents[0]); !count) return fail(std::move(count.error()));
              if (changed_) {
                if (auto used = changed_(contents[0]); !used) return used;
              }
              auto pem = std::make_shared<const std::string>(contents[0]);
              const std::lock_guard lock(mutex_);
              pem_ = std::move(pem);
              return {};
            }) {}

Result<void> BundleWatcher::load() {
  auto result = file_.check();
  if (!result) return fail(std::move(result.error()));
  return {};
}

void BundleWatcher::start() {
  core_.post([this] { file_.start(); });
}

std::shared_ptr<const std::string> BundleWatcher::current() const {
  const std::lock_guard lock(mutex_);
  return pem_;
}

}  // namespace vg::http

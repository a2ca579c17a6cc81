#include "handler/server/disk_copies.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "base/disk_limits.h"
#include "base/handler_limits.h"
#include "base/log.h"
#include "base/names.h"
#include "disks/folder.h"
#include "disks/live_copy.h"
#include "disks/room.h"
#include "guests/facts.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::handler {
namespace {

using disks::DiskFolder, disks::LiveCopy;
using std::string_view;

Failed from(const disks::Failure& failure) { return fail(Status::internal_error(failure.message)); }

bool is_name(string_view text) { return dns1123_subdomain_defects(text).empty(); }

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Guests have their disks by links, so that files are compared and not their names.
bool is_same_file(const std::string& one, const std::string& other) {
  struct stat first{}, second{};
  return ::stat(one.c_str(), &first) == 0 && ::stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// Which disk of the guest a claim is; null: none, so that nobody writes it.
const guests::DiskFact* disk_of(const guests::DomainFacts& facts, const std::string& file) {
  const auto found = std::ranges::find_if(facts.disks, [&](const guests::DiskFact& disk) {
    return !disk.source.empty() && is_same_file(disk.source, file);
  });
  return found == facts.disks.end() ? nullptr : &*found;
}

// What a copy has to write: blocks, since no image is read here.
std::int64_t allocated_bytes(const std::string& file) {
  struct stat info{};
  return ::lstat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? std::int64_t{info.st_blocks} * 512 : 0;
}

// All copies of one request.
struct Plan {
  std::vector<hypervisor::DiskCopy> disks = {};
  std::vector<std::string> copied = {}, unused = {};  // records
  std::int64_t bytes = 0;
};

Plan plan_of(const std::vector<CopyWish>& wishes, const guests::DomainFacts& facts, const std::string& folder,
             const std::string& ns) {
  Plan plan;
  for (const CopyWish& wish : wishes) {
    const std::string image = fmt::format("{}/{}/{}/{}", folder, ns, wish.claim, disks::image_file);
    const guests::DiskFact* disk = disk_of(facts, image);
    if (!disk) {
      plan.unused.push_back(wish.record);
      continue;
    }
    plan.copied.push_back(wish.record);
    plan.bytes += allocated_bytes(image);
    plan.disks.push_back({.target = disk->target,
                          .file = fmt::format("{}/.records/{}/{}", folder, wish.record, disks::live_image_file)});
  }
  return plan;
}

void note_all(const DiskFolder& folder, const std::vector<std::string>& records, const LiveCopy& copy) {
  for (const std::string& record : records)
    if (const auto open = folder.record(record)) (void)disks::write_live(open->get(), copy);  // the job finds out
}

// True when all of them are still wanted: whoever asked removes the folders of copies that it gave up.
bool note_progress(const DiskFolder& folder, const std::vector<std::string>& records, const LiveCopy& copy) {
  return std::ranges::all_of(records, [&](const std::string& record) {
    const auto open = folder.record(record);
    return open && disks::write_live(open->get(), copy);
  });
}

Result<void> prepare(const DiskFolder& folder, const std::vector<std::string>& records, const LiveCopy& copy) {
  for (const std::string& record : records) {
    const auto open = folder.make_record(record);
    if (!open) return from(open.error());
    ::unlinkat(open->get(), disks::live_image_file, 0);  // libvirt makes it
    if (auto noted = disks::write_live(open->get(), copy); !noted) return from(noted.error());
  }
  return {};
}

// Since when a copy to these records is made, by this process or by one before it; nothing: there is none.
std::optional<std::int64_t> begun_at(const DiskFolder& folder, const std::vector<std::string>& records) {
  std::optional<std::int64_t> at;
  for (const std::string& record : records) {
    const auto open = folder.record(record);
    const auto copy = open ? disks::read_live(open->get()) : std::nullopt;
    if (!copy || copy->state != LiveCopy::State::copying) return std::nullopt;
    at = copy->at_ms;
  }
  return at;
}

int hundredths(const hypervisor::JobProgress& progress) {
  if (progress.total == 0) return -1;
  return static_cast<int>(10000.0 * static_cast<double>(std::min(progress.processed, progress.total)) /
                          static_cast<double>(progress.total));
}

}  // namespace

Result<std::vector<CopyWish>> read_wishes(string_view body) {
  const auto document = json::Document::parse(body);
  const json::Array* copies = document ? json::get_array(document->root(), "copies") : nullptr;
  if (!copies || copies->empty() || copies->size() > limits::disk_copies_max)
    return fail(Status::bad_request("copies is required: a list of claims and records"));
  std::vector<CopyWish> wishes;
  for (const json::Value& entry : *copies) {
    CopyWish wish{.claim = std::string(json::get_string_or(entry, "claim")),
                  .record = std::string(json::get_string_or(entry, "record"))};
    if (!is_name(wish.claim) || !is_name(wish.record))
      return fail(Status::bad_request("claim and record must be names of objects"));
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

Task<Result<void>> DiskCopies::begin(Core& core, Target target, std::string body) {
  const auto wishes = read_wishes(body);
  if (!wishes) co_return fail(wishes.error());
  const auto domain = hypervisor_.find(target.domain());
  const auto facts = domain && domain->xml
                         ? guests::read_facts(*domain->xml)
                         : Result<guests::DomainFacts>(fail(Status::unavailable("the VMI is not running yet")));
  if (!facts) co_return fail(facts.error());
  auto folder = DiskFolder::open(disks_);
  if (!folder) co_return from(folder.error());
  const Plan plan = plan_of(*wishes, *facts, disks_, target.ns);
  const auto job = co_await hypervisor_.job(core, target.domain());
  if (job && job->active) {
    const auto at = begun_at(*folder, plan.copied);
    if (!at) co_return fail(Status::unavailable("another job of the VMI is running: a migration, a dump or a copy"));
    start_following(core, target.domain(), plan.copied, *at);
    co_return Result<void>();
  }
  if (plan.bytes > folder->free_bytes())  // STO-06
    co_return fail(Status::internal_error(
        fmt::format("the disk of this host has no room for {} bytes of the VMI's disks", plan.bytes)));
  if (auto ready = prepare(*folder, plan.unused, {.state = LiveCopy::State::unused}); !ready) co_return ready;
  if (plan.disks.empty()) co_return Result<void>();
  const std::int64_t at = now_ms();
  if (auto ready = prepare(*folder, plan.copied, {.at_ms = at}); !ready) co_return ready;
  if (auto begun = co_await hypervisor_.begin_copy(core, target.domain(), plan.disks); !begun) {
    note_all(*folder, plan.copied, {.state = LiveCopy::State::failed, .at_ms = at, .message = begun.error().message});
    co_return begun;
  }
  start_following(core, target.domain(), plan.copied, at);
  co_return Result<void>();
}

void DiskCopies::start_following(Core& core, std::string domain, std::vector<std::string> records, std::int64_t at_ms) {
  {
    const std::lock_guard lock(mutex_);
    if (!followed_.insert(domain).second) return;
  }
  tasks_.start(core, follow(core, std::move(domain), std::move(records), at_ms));
}

Task<void> DiskCopies::follow(Core& core, std::string domain, std::vector<std::string> records, std::int64_t at_ms) {
  auto folder = DiskFolder::open(disks_);
  if (!folder) co_return;
  while (true) {
    const auto job = co_await hypervisor_.job(core, domain);
    if (!job || !job->active) break;
    const bool wanted = note_progress(*folder, records, {.at_ms = at_ms, .progress = hundredths(*job)});
    if (!wanted || folder->free_bytes() == 0) {
      log::warning("a copy of a guest's disks is given up",
                   {{"domain", domain}, {"why", wanted ? "the disk is nearly full" : "nobody wants it any more"}});
      (void)co_await hypervisor_.abort_job(core, domain);  // what it comes to is told below
    }
    co_await core.sleep(limits::disk_copy_look_interval);
  }
  const auto ended = co_await hypervisor_.copy_result(core, domain);
  note_all(*folder, records,
           {.state = ended ? LiveCopy::State::done : LiveCopy::State::failed,
            .at_ms = at_ms,
            .message = ended ? std::string() : ended.error().message});
  const std::lock_guard lock(mutex_);
  followed_.erase(domain);
}

}  // namespace vg::handler

// A disk agent for tests: jobs wait until the test says how they end.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ports/disk_agent.h"

namespace vg {

class FakeDisks final : public DiskAgent {
 public:
  bool ready() const override { return is_ready; }
  std::optional<DiskClaim> claim(std::string_view ns, std::string_view name) const override {
    return find(claims, DiskClaimName{std::string(ns), std::string(name)});
  }
  std::optional<ImageRecord> record(std::string_view name) const override { return find(records, std::string(name)); }
  std::optional<DiskJobStatus> job(std::string_view id) const override { return find(jobs, std::string(id)); }
  DiskHold hold(std::string_view ns, std::string_view name) const override {
    return find(holds, DiskClaimName{std::string(ns), std::string(name)}).value_or(DiskHold());
  }

  void start(DiskJob job) override {
    DiskJobStatus& status = jobs[job.id];
    if (status.state == DiskJobState::running) return;
    status.state = DiskJobState::running;
    const std::string id = job.id;
    asked.insert_or_assign(id, std::move(job));
    tell({.job = id});
  }
  void cancel(std::string_view id) override {
    jobs.erase(std::string(id));
    asked.erase(std::string(id));
  }
  std::vector<DiskChange> take_changes() override { return std::exchange(changes_, {}); }
  void on_change(std::function<void()> changed) override { changed_ = std::move(changed); }

  // Ends a job that was asked for, with what it comes to.
  void finish(const std::string& id) {
    const auto found = asked.find(id);
    if (found == asked.end()) throw std::invalid_argument("nobody asked for " + id);
    const DiskJob job = found->second;
    DiskJobStatus& status = jobs[id];
    status.state = DiskJobState::succeeded;
    status.failures = 0;
    std::visit([&](const auto& work) { apply(job, work); }, job.work);
    tell({.job = id, .claim = job.claim});
  }
  void fail(const std::string& id, DiskError error, std::string message) {
    DiskJobStatus& status = jobs[id];
    status.state = DiskJobState::failed;
    status.error = error;
    status.message = std::move(message);
    ++status.failures;
    tell({.job = id});
  }

  bool is_ready = true;
  std::map<DiskClaimName, DiskClaim> claims = {};
  std::map<DiskClaimName, DiskHold> holds = {};
  std::map<std::string, ImageRecord> records = {};
  std::map<std::string, DiskJobStatus> jobs = {};
  std::map<std::string, DiskJob> asked = {};
  std::map<std::string, std::string> digests = {};  // of registries, by URL

 private:
  template <class Map>
  static std::optional<typename Map::mapped_type> find(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }
  void tell(DiskChange change) {
    changes_.push_back(std::move(change));
    if (changed_) changed_();
  }

  void fill(const DiskJob& job, std::int64_t size) {
    DiskClaim& claim = claims[job.claim];
    claim.uid = job.claim_uid;
    claim.image_size = std::max(size, std::int64_t{1});
    claim.filled_by = job.id;
    claim.holds = "disk.img";
  }
  void apply(const DiskJob& job, const CreateClaim& work) {
    DiskClaim& claim = claims[job.claim];
    claim.uid = job.claim_uid;
    claim.capacity = std::max(claim.capacity, work.capacity);
  }
  void apply(const DiskJob& job, const ResizeClaim& work) { claims[job.claim].capacity = work.capacity; }
  void apply(const DiskJob& job, const RemoveClaim&) { claims.erase(job.claim); }
  void apply(const DiskJob& job, const MakeBlankImage& work) { fill(job, work.size); }
  void apply(const DiskJob& job, const CopyClaim& work) {
    fill(job, std::max(work.size, claims[work.from].image_size));
  }
  void apply(const DiskJob& job, const CopyFromRecord& work) {
    fill(job, std::max(work.size, records[work.record].virtual_size));
    if (work.adopt) records.erase(work.record);
  }
  void apply(const DiskJob& job, const ImportHttp& work) { fill(job, work.target.size); }
  void apply(const DiskJob& job, const ImportRegistry& work) { fill(job, work.target.size); }
  void apply(const DiskJob& job, const ConvertUpload& work) { fill(job, work.target.size); }
  void apply(const DiskJob& job, const TakeRecord& work) {
    records[work.record] = {.virtual_size = claims[job.claim].image_size, .ready = true};
  }
  void apply(const DiskJob&, const RemoveRecord& work) { records.erase(work.record); }
  void apply(const DiskJob&, const StageRecord& work) { records[work.as] = records[work.record]; }
  void apply(const DiskJob& job, const ReadDigest& work) { jobs[job.id].labels = {{"digest", digests[work.from.url]}}; }

  std::vector<DiskChange> changes_ = {};
  std::function<void()> changed_ = nullptr;
};

}  // namespace vg

// The server's side of the disk worker: what is known of disks and jobs, kept from what the worker tells. One thread
// listens; the rest may be called by anybody.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "disks/board.h"
#include "disks/messages.h"
#include "disks/outcome.h"
#include "disks/worker.h"
#include "ports/disk_agent.h"

namespace vg::disks {

class WorkerAgent final : public DiskAgent {
 public:
  // Listens from start_listening() on, which is called once the server has its threads.
  // `blocked`: networks that nothing is imported from.
  WorkerAgent(WorkerLink link, const Clock& clock, std::string blocked = {});
  ~WorkerAgent() override;
  WorkerAgent(const WorkerAgent&) = delete;
  WorkerAgent& operator=(const WorkerAgent&) = delete;

  void start_listening();
  // Why there is nobody to work on disks; nothing while there is.
  std::optional<std::string> problem() const;

  bool ready() const override;
  std::optional<DiskClaim> claim(std::string_view ns, std::string_view name) const override;
  std::optional<ImageRecord> record(std::string_view name) const override;
  std::optional<DiskJobStatus> job(std::string_view id) const override;
  DiskHold hold(std::string_view ns, std::string_view name) const override;
  void start(DiskJob job) override;
  void cancel(std::string_view id) override;
  std::vector<DiskChange> take_changes() override;
  void on_change(std::function<void()> changed) override;

 private:
  void listen();
  bool receive_all();
  void hear(const helpers::Message& raw);
  void hear_unreadable(const helpers::Message& raw);
  void hear_of(const Hello&);
  void hear_of(const Ready&);
  void hear_of(const ClaimIs& message);
  void hear_of(const RecordIs& message);
  void hear_of(const JobProgress& message);
  void hear_of(const JobEnded& message);
  void hear_of(const Welcome&) {}
  void hear_of(const Start&) {}
  void hear_of(const Cancel&) {}
  void start_what_may();
  void send(const Message& message);
  void tell(DiskChange change);
  void tell_silence();

  WorkerLink link_;
  Descriptor wake_;  // of the thread, when something is queued
  const Clock& clock_;
  const std::string blocked_;
  mutable std::mutex mutex_;
  JobBoard board_;
  std::map<DiskClaimName, DiskClaim> claims_;
  std::map<std::string, ImageRecord, std::less<>> records_;
  std::vector<DiskChange> changes_;
  std::function<void()> changed_;
  bool ready_ = false, lost_ = false;
  bool silence_told_ = false;  // of the thread alone
  std::thread listener_;
};

}  // namespace vg::disks

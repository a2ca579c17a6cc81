// The loop of a node: one pass at a time for each VMI, when it changed, when the hypervisor told something of it, when
// a pass wanted to look again. A pass decides (src/guests/decide.h), acts, and writes what is true then.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/background.h"
#include "engine/work_queue.h"
#include "guests/decide.h"
#include "guests/report.h"
#include "handler/sync/access_credentials.h"
#include "handler/sync/event_writer.h"
#include "handler/sync/guest.h"
#include "handler/sync/moving.h"
#include "handler/sync/starting.h"
#include "handler/sync/updating.h"
#include "http/task_set.h"

namespace vg::handler {

class GuestLoop {
 public:
  explicit GuestLoop(LoopParts parts);
  GuestLoop(const GuestLoop&) = delete;

  // On the core, once the hypervisor is connected or not: what is there is looked at when both sides are known.
  void start();
  // After the core has stopped.
  void stop();
  // On the core.
  void wake(const Key& key);
  void wake_all();
  // What the host can do, and what its Node object says.
  void set_host(bool kvm, controllers::NodeInfo info);
  // Before start(): told on the core when the hypervisor came or went.
  void on_connection(std::function<void()> told) { connection_told_ = std::move(told); }
  // RUN-SYN-02
  void note_pause(const Key& key, bool paused);

 private:
  using Asked = std::optional<std::chrono::steady_clock::time_point>;  // an agent to end its guest, without an answer
  // What is known of a VMI between passes, and may be forgotten.
  struct Guest {
    std::string written;          // the VMI as it was last written
    std::set<std::string> older;  // resource versions that `written` replaced and the copy may still have
    std::vector<guests::DiskFailure> disk_failures;
    std::vector<std::string> panics;
    std::optional<std::string> watchdog;  // it fired: what its action was
    std::string images_of;                // the uid of the VMI that images were asked for, which may be on their way
    Volumes volumes;
    KeptCredentials credentials;
    std::shared_ptr<guests::Move> move = std::make_shared<guests::Move>();
    std::shared_ptr<const std::string> xml;  // that `facts` were read from
    std::shared_ptr<const guests::DomainFacts> facts;
    bool seen = false;                                                  // by this process
    std::optional<std::chrono::steady_clock::time_point> pause_asked;   // by a user, who may still wait for it
    std::optional<std::chrono::steady_clock::time_point> orphan_since;  // every answer since then said so
    std::optional<Status> start_error;
    std::chrono::steady_clock::time_point start_due;  // before it, another start is not tried
    std::chrono::milliseconds start_pause{0};
    std::shared_ptr<Asked> asked = std::make_shared<Asked>();
  };
  struct Looked {
    hypervisor::DomainPtr domain;
    std::shared_ptr<const guests::DomainFacts> facts;
  };

  void heard(const hypervisor::Event& event);
  void pump();
  void set_alarm();
  Task<void> ring(std::chrono::steady_clock::duration after);
  Task<void> begin();
  Task<void> run(Key key);
  Task<Result<Outcome>> pass(const Key& key, Guest& guest, json::StoragePtr storage);
  Task<Result<json::Value>> load(const Key& key, Guest& guest, const json::StoragePtr& storage);
  // Whether what runs here is known to belong to no VMI that this node has a part in; an error: nobody knows.
  Task<Result<bool>> is_orphan(const Key& key, Guest& guest, const guests::Case& one, const Status& refusal,
                               const json::StoragePtr& storage);
  Looked look(const Key& key, Guest& guest) const;
  void drop_images(Guest& guest);
  Task<Outcome> start(const Work& work, Guest& guest);
  bool is_being_paused(const Guest& guest) const;
  void recall_pause(const Key& key, Guest& guest, const Looked& looked);
  Task<Result<Outcome>> follow(const guests::Decision& decision, const Key& key, Guest& guest, const guests::Case& one,
                               const json::Value* vmi, const json::StoragePtr& storage);
  void tell(const json::Object& vmi, Guest& guest, const Outcome& outcome);
  Task<Outcome> act(const Key& key, Guest& guest, const guests::Decision& decision, const guests::Case& one,
                    const json::Value* vmi, const json::StoragePtr& storage);
  Task<Outcome> synchronise(const Work& work, const guests::Case& one, Guest& guest);
  Task<Outcome> shut_down(const Key& key, Guest& guest, const guests::Case& one);
  Task<void> ask_to_end(std::string domain, std::shared_ptr<Asked> asked);
  Task<Outcome> kill(const Key& key);
  Task<Outcome> remove(const Key& key, Guest& guest, const guests::Case& one);
  Task<Outcome> move(const guests::MoveDecision& decision, const Key& key, Guest& guest, const guests::Case& one,
                     const json::Value& vmi, const json::StoragePtr& storage);
  Task<Result<void>> write(const Key& key, Guest& guest, const guests::Case& one, const Outcome& outcome,
                           const json::StoragePtr& storage);
  Task<Result<void>> commit(const Key& key, Guest& guest, const guests::Case& one, const Mover::Change& change,
                            const json::StoragePtr& storage);
  Work work_of(const Key& key, const guests::Case& one, const json::Value& vmi, const json::StoragePtr& storage);
  guests::VolumeFacts volume_facts(const Guest& guest, const guests::Case& one, std::string_view volume) const;

  LoopParts parts_;
  http::TaskSet passes_;
  EventWriter events_;
  Starter starter_;
  Updater updater_;
  CredentialKeeper credentials_;
  Mover mover_;
  engine::WorkQueue queue_;
  std::map<Key, Guest> guests_;
  std::size_t running_ = 0;
  bool ready_ = false;
  std::function<void()> connection_told_;
  Background beginning_, alarm_;
  std::optional<std::chrono::steady_clock::time_point> alarm_at_;
};

}  // namespace vg::handler

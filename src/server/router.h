// The way of a request: find its route, find out who asks, ask whether they may, serve, count, log.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "auth/identify.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/request_record.h"
#include "base/status.h"
#include "base/task.h"
#include "base/work_turns.h"
#include "http/exchange.h"
#include "server/fairness.h"
#include "server/request_metrics.h"
#include "server/tenure.h"

namespace vg::server {

// Who may call a route. There is no default: whoever adds a route decides.
enum class Access {
  anyone,          // nobody is asked who they are
  authenticated,   // whoever proves to be somebody
  administrators,  // members of system:masters
};

// What the journal wants to know of a request beside its answer.
struct RequestNotes {
  std::string reason, message;  // of a refusal
  record::Details details;
};

// One request on its way, as a route's handler sees it. Answers go through here, so that they are counted and logged.
class Call final : public WorkTurns {
 public:
  Call(http::Exchange& exchange, std::string_view path, Fairness* fairness = nullptr, Clock::Steady began = {})
      : exchange_(exchange), path_(path), fairness_(fairness), began_(began) {}

  const http::Request& request() const { return exchange_.request(); }
  Core& core() { return exchange_.core(); }
  // As Exchange::cancelled; also once the session is over that a held request came by.
  bool cancelled() const { return exchange_.cancelled() || (session_end_ && session_end_->is_over()); }
  std::string_view path() const { return path_; }  // percent-decoded
  std::string_view rest() const { return rest_; }  // what follows the prefix of a prefix route
  const auth::Identity& identity() const { return identity_; }
  // For a handler that finds out by itself who asks, so that the log knows it too.
  void set_user_name(std::string_view name) { identity_.user = name; }
  // Where it comes from, as far as that stands for one client.
  std::string source() const;
  // Whether this request may leave a line in the log that nobody asked for by a higher verbosity; `beside` tells apart
  // those for whom one client asks.
  bool may_log(std::string_view beside = {}) const;
  // Header fields for the answer, whatever it will be, as they are sent; not for one that hands the connection over.
  // Those that are longer than two that hold a uid are left out.
  void set_answer_fields(std::string_view fields);
  // As Exchange::charge_to.
  void charge_to(std::string_view user) { exchange_.charge_to(user); }
  // co_await: waits until it is the turn of a request of this user, who has shown who they are. The seat goes to sit(),
  // an error is the answer to give. Who impersonates somebody asks as themselves.
  Fairness::Turn turn(const User& user, fair::Kind kind);
  // The same before the credentials are looked at, for whom they stood for the last time. When they are new the seat is
  // none, and it is known only afterwards whose turn it would be.
  Fairness::Turn expected_turn(fair::Kind kind);
  void sit(Fairness::Seat seat) {
    if (seat.taken()) seat_ = std::move(seat);
  }
  bool sits_as(const User& user) const { return seat_.taken() && fair::Scheduler::user_of(*seat_.flow()) == user.name; }
  // Who pays for it: who really asks, impersonation or not.
  std::string payer() const { return seat_.taken() ? fair::Scheduler::user_of(*seat_.flow()) : identity_.user; }
  // For a request that goes on for long without doing much: it does not count as running any more.
  void leave_seat() { seat_.leave(); }
  // One more of what is held for long, for as long as the result lives; 429 when this user has too many. From here on
  // the end of the session that the request came by cancels it.
  Result<Tenure> hold(Hold hold);
  // The answer to credentials that do not hold.
  Status failed_login(Status answer);
  // They do hold.
  void good_login(const User& user) {
    if (fairness_) fairness_->good_login(exchange_, fairness_->classify(user.groups), user.name);
  }

  // As Exchange::on_cancel, for everything that cancelled() tells.
  void on_cancel(std::move_only_function<void()> fn);

  // As Exchange::read_body. Whoever takes long to send it has no seat meanwhile; a large one waits for its turn then.
  Task<Result<std::string_view>> read_body(std::size_t limit);
  // As Exchange::stream_body. It has no seat from here on.
  Task<Result<void>> stream_body(http::BodySink take);
  Task<Result<void>> work_on(std::size_t bytes) override;
  void release_turn() override;
  void respond(http::Response response);
  void refuse(const Status& status);
  // This request will be recorded. Before that nothing is noted: most requests only read.
  void expect_record() {
    if (!notes_) notes_ = std::make_unique<RequestNotes>();
  }
  // For the journal, where it is not refuse() that answers. Texts that may repeat what the client sent are left out.
  void note_refusal(const Status& status);
  void note_touched(record::Touched touched);
  // Where parts of the program leave what they know; null: nobody will read it.
  record::Details* details() { return notes_ ? &notes_->details : nullptr; }
  const RequestNotes* notes() const { return notes_.get(); }
  // Whoever throws from here on breaks the connection off, so that nobody takes what came for the whole.
  Task<bool> begin_stream(http::Response head);
  Task<bool> write(std::string_view chunk);
  Task<Result<std::unique_ptr<Stream>>> upgrade(http::Response head);

  Clock::Steady began() const { return began_; }
  int status() const { return status_; }  // of the answer; 0 while there is none
  std::uint64_t answered_bytes() const { return answered_bytes_; }

 private:
  friend class Router;
  Task<Result<std::string_view>> wait_for_body(std::size_t limit);
  Task<Result<void>> change_seat(fair::Kind kind);
  std::string_view answer_fields() const { return {answer_fields_.data(), answer_fields_size_}; }
  Task<void> leave_seat_later();
  Task<bool> write_seated(std::string_view chunk);

  http::Exchange& exchange_;
  std::string_view path_, rest_;
  auth::Identity identity_;
  Fairness* fairness_;  // null: everybody runs at once
  Clock::Steady began_;
  const auth::SessionVerifier* sessions_ = nullptr;  // null: nobody signs in here
  std::shared_ptr<SessionEnd> session_end_;          // of a request that holds something
  Fairness::Seat seat_;
  fair::Class payer_class_{};  // of whoever is asked by the router itself
  std::string payer_;
  bool has_released_turn_ = false;
  std::unique_ptr<RequestNotes> notes_;
  // Here and not in a string: there are some for nearly every request.
  std::array<char, 151> answer_fields_;
  std::uint8_t answer_fields_size_ = 0;
  int status_ = 0;
  bool streams_ = false;
  std::uint64_t answered_bytes_ = 0;
};

using RouteHandler = std::function<Task<void>(Call&)>;
// For a route that needs neither a body nor to wait.
RouteHandler answer_with(std::function<http::Response(const Call&)> answer);

// Who says whose turn it is. A server has somebody; where nobody is needed, that is said.
class TurnKeeper {
 public:
  TurnKeeper(Fairness& fairness) : fairness_(&fairness) {}
  static TurnKeeper everybody_at_once() { return {}; }

  explicit operator bool() const { return fairness_ != nullptr; }
  Fairness* operator->() const { return fairness_; }
  Fairness* get() const { return fairness_; }

 private:
  TurnKeeper() = default;
  Fairness* fairness_ = nullptr;
};

class Router final : public http::Handler {
 public:
  struct Parts {
    const auth::Identifier& identifier;
    const Clock& clock;
    metrics::Registry& metrics;
    // From which verbosity on there is a line a request. Webhooks and scrapes alone would fill a disk: they have one
    // of their own, which is higher.
    int request_verbosity = 3;
    TurnKeeper fairness;
  };
  explicit Router(Parts parts);

  static constexpr std::string_view any_method = "*";

  // The path is matched as a whole. A method may be any_method. The same method and path twice is a bug and throws.
  void add(Access access, std::string_view method, std::string path, RouteClass route_class, RouteHandler handler);
  // Every path that begins with the prefix, which ends with '/', unless a whole path or a longer prefix matches.
  void add_prefix(Access access, std::string_view method, std::string prefix, RouteClass route_class,
                  RouteHandler handler);

  // What requests hold ends with the session that they came by. Before the first request; the verifier outlives this.
  void end_with_sessions(const auth::SessionVerifier& sessions) { sessions_ = &sessions; }

  Task<void> handle(http::Exchange& exchange) override;

 private:
  struct Route {
    std::string method;
    Access access;
    RouteClass route_class;
    RouteHandler handler;
  };
  struct Place {  // one path or prefix and what can be done there
    std::vector<Route> routes;
    const Route* find(std::string_view method) const;
    std::string allowed_methods() const;
  };
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  static void add_to(Place& place, Access access, std::string_view method, std::string_view path,
                     RouteClass route_class, RouteHandler handler);
  const Place* find_place(Call& call) const;
  // The route to serve, after everything that may refuse; the refusal was sent when there is none.
  const Route* choose(Call& call, RouteClass& route_class) const;
  bool admit(Call& call, Access access) const;
  // Waits among those who guess credentials, if the request may be one of them. False: it was refused.
  Task<bool> pass_suspicion(Call& call) const;
  static bool takes_turn(const Route& route);
  void log(const Call& call, RouteClass route_class, Clock::Steady::duration took) const;

  Parts parts_;
  const auth::SessionVerifier* sessions_ = nullptr;
  RequestMetrics metrics_;
  std::unordered_map<std::string, Place, TextHash, std::equal_to<>> places_;
  std::map<std::string, Place, std::greater<>> prefixes_;  // a longer prefix sorts before the shorter ones it extends
};

}  // namespace vg::server

// What a request holds for long, a watch or a stream: counted as its user's, and over with the session that it came by.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "auth/session.h"
#include "base/core.h"
#include "server/fairness.h"

namespace vg::server {

// The end of a session, as it reaches one core. Used there only.
class SessionEnd {
 public:
  bool is_over() const { return over_; }
  // Calls fn once when the session is over (now, if it is already). One at a time: the last one counts, and an empty
  // one takes it back.
  void notify(std::move_only_function<void()> fn) {
    if (fn && over_) return fn();
    fn_ = std::move(fn);
  }
  void tell() {
    over_ = true;
    if (fn_) std::exchange(fn_, nullptr)();
  }

 private:
  bool over_ = false;
  std::move_only_function<void()> fn_;
};

class Tenure {
 public:
  Tenure() = default;
  explicit Tenure(Fairness::Held held) : held_(std::move(held)) {}
  Tenure(Tenure&& other) noexcept
      : held_(std::move(other.held_)), end_(std::move(other.end_)), bond_(std::move(other.bond_)) {}
  Tenure& operator=(Tenure&&) = delete;
  ~Tenure() {
    if (end_) end_->notify({});
  }

  // Ties it to a session that the request has shown.
  Result<void> bind(const auth::SessionVerifier& sessions, std::string_view id, Core& core) {
    end_ = std::make_shared<SessionEnd>();
    auto bond = sessions.bind(id, [end = end_, &core] { core.post([end] { end->tell(); }); });
    if (!bond) return fail(std::move(bond.error()));
    bond_ = std::move(*bond);
    return {};
  }

  // As SessionEnd::notify, on the request's core; never called for requests by other credentials, nor after this is
  // gone.
  void on_session_end(std::move_only_function<void()> fn) {
    if (end_) end_->notify(std::move(fn));
  }
  const std::shared_ptr<SessionEnd>& session_end() const { return end_; }

 private:
  Fairness::Held held_;
  std::shared_ptr<SessionEnd> end_;  // null: no session
  std::unique_ptr<auth::SessionBond> bond_;
};

}  // namespace vg::server

// Memory that requests hold: bodies that arrive, answers that wait for their readers. All of them together have a
// limit, and each user or source within it a share, so that nobody can take the memory of all others.
//
// What is below a connection's free allowance is not charged here at all, so everyday requests never come here; a
// charge takes one short lock of its account's shard.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/budgets.h"

namespace vg {

class ByteBudget {
 public:
  struct Limits {
    std::size_t total_bytes = budgets::bytes_in_flight_max;
    std::size_t share_bytes = budgets::bytes_in_flight_share_max;
  };
  // Whose share it is. Names are hashed with a key that nobody outside knows, so nobody can aim at another one's share.
  using Account = std::uint64_t;
  static constexpr Account nobody = 0;  // has no share: only the total counts

  // What happens when there is no room: most are refused, but what was done already has to be told.
  enum class Rule : std::uint8_t { may_refuse, must };

  ByteBudget() : ByteBudget(Limits()) {}
  explicit ByteBudget(Limits limits);
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  Account of_user(std::string_view name) const;
  Account of_source(std::uint64_t source) const;

  std::size_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  std::size_t used_bytes(Account account) const;
  // Whether nothing more should be begun for it, because it holds more than its share: answers that had to be given do
  // that, bodies cannot. What others hold is no reason to refuse what is small. One load while less than a share is
  // held by all.
  bool overdrawn(Account account) const {
    return used_bytes() > limits_.share_bytes && account != nobody && used_bytes(account) > limits_.share_bytes;
  }
  const Limits& limits() const { return limits_; }

  // What one request holds. Gives everything back at its end.
  class Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept
        : budget_(other.budget_), account_(other.account_), bytes_(std::exchange(other.bytes_, 0)) {}
    Charge& operator=(Charge&&) = delete;
    ~Charge() { resize_to_zero(); }

    // From now on it is so many bytes. False: there is no room, and it stays as it was. A charge that holds nothing
    // goes to `account` first. A single request that is larger than its account's share is taken while the account
    // holds nothing else, and one that is larger than the total while nobody does: it could never be served otherwise.
    bool resize(ByteBudget& budget, Account account, std::size_t bytes, Rule rule = Rule::may_refuse);
    // Whether resize would succeed now.
    bool could_be(const ByteBudget& budget, Account account, std::size_t bytes) const;
    // Somebody else answers for it from now on, whether or not it fits their share.
    void move_to(Account account);
    std::size_t bytes() const { return bytes_; }

   private:
    void resize_to_zero();
    ByteBudget* budget_ = nullptr;
    Account account_ = nobody;
    std::size_t bytes_ = 0;
  };

 private:
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<Account, std::size_t> used;
  };
  static constexpr std::size_t shards_count = 16;

  Shard& shard(Account account) { return shards_[account % shards_count]; }
  const Shard& shard(Account account) const { return shards_[account % shards_count]; }
  bool fits_total(std::size_t own, std::size_t others, std::size_t more) const;
  bool add(Account account, std::size_t own, std::size_t more, Rule rule);
  void subtract(Account account, std::size_t bytes);
  bool add_to_share(Account account, std::size_t own, std::size_t more, Rule rule);
  void subtract_from_share(Account account, std::size_t bytes);

  const Limits limits_;
  const std::array<std::uint64_t, 2> key_;
  std::atomic<std::size_t> used_{0};
  std::array<Shard, shards_count> shards_;
};

}  // namespace vg

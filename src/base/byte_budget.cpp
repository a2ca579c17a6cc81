#include "base/byte_budget.h"

#include <cstring>
#include <random>

namespace vg {
namespace {

std::uint64_t random_word() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random() | 1;
}

__extension__ using Wide = unsigned __int128;

// Both halves of a product: each bit of the result depends on each bit of both factors.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

ByteBudget::Account not_nobody(std::uint64_t hash) { return hash == ByteBudget::nobody ? 1 : hash; }

// Users and sources are different accounts even when their bytes are the same.
constexpr std::uint64_t of_users = 0x75;
constexpr std::uint64_t of_sources = 0x73;

}  // namespace

ByteBudget::ByteBudget(Limits limits) : limits_(limits), key_{random_word(), random_word()} {}

ByteBudget::Account ByteBudget::of_user(std::string_view name) const {
  std::uint64_t hash = key_[0] ^ of_users;
  const std::size_t size = name.size();
  for (; name.size() >= 8; name.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data(), 8);
    hash = fold(hash ^ word, key_[1]);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, name.data(), name.size());
  hash = fold(hash ^ rest, key_[1]);
  return not_nobody(fold(hash ^ size, key_[0]));
}

ByteBudget::Account ByteBudget::of_source(std::uint64_t source) const {
  return not_nobody(fold(fold(key_[0] ^ of_sources ^ source, key_[1]) ^ source, key_[0]));
}

std::size_t ByteBudget::used_bytes(Account account) const {
  const Shard& place = shard(account);
  const std::lock_guard lock(place.mutex);
  const auto found = place.used.find(account);
  return found == place.used.end() ? 0 : found->second;
}

// `own` is what the request holds already, `others` the rest of all.
bool ByteBudget::fits_total(std::size_t own, std::size_t others, std::size_t more) const {
  return others == 0 || own + others + more <= limits_.total_bytes;
}

bool ByteBudget::add_to_share(Account account, std::size_t own, std::size_t more, Rule rule) {
  if (account == nobody) return true;
  Shard& place = shard(account);
  const std::lock_guard lock(place.mutex);
  std::size_t& used = place.used[account];
  if (rule == Rule::may_refuse && used != own && used + more > limits_.share_bytes) return false;
  used += more;
  return true;
}

void ByteBudget::subtract_from_share(Account account, std::size_t bytes) {
  if (account == nobody) return;
  Shard& place = shard(account);
  const std::lock_guard lock(place.mutex);
  const auto found = place.used.find(account);
  if (found == place.used.end()) return;
  found->second -= bytes < found->second ? bytes : found->second;
  if (found->second == 0) place.used.erase(found);
}

bool ByteBudget::add(Account account, std::size_t own, std::size_t more, Rule rule) {
  const std::size_t before = used_.fetch_add(more, std::memory_order_relaxed);
  if (rule == Rule::may_refuse && !fits_total(own, before - own, more)) {
    used_.fetch_sub(more, std::memory_order_relaxed);
    return false;
  }
  if (add_to_share(account, own, more, rule)) return true;
  used_.fetch_sub(more, std::memory_order_relaxed);
  return false;
}

void ByteBudget::subtract(Account account, std::size_t bytes) {
  subtract_from_share(account, bytes);
  used_.fetch_sub(bytes, std::memory_order_relaxed);
}

bool ByteBudget::Charge::resize(ByteBudget& budget, Account account, std::size_t bytes, Rule rule) {
  if (bytes == bytes_) return true;
  if (bytes_ == 0) {
    budget_ = &budget;
    account_ = account;
  }
  if (bytes < bytes_) {
    budget_->subtract(account_, bytes_ - bytes);
  } else if (!budget_->add(account_, bytes_, bytes - bytes_, rule)) {
    return false;
  }
  bytes_ = bytes;
  return true;
}

bool ByteBudget::Charge::could_be(const ByteBudget& budget, Account account, std::size_t bytes) const {
  if (bytes <= bytes_) return true;
  const Account whose = bytes_ == 0 ? account : account_;
  const std::size_t more = bytes - bytes_;
  if (!budget.fits_total(bytes_, budget.used_bytes() - bytes_, more)) return false;
  if (whose == nobody) return true;
  const std::size_t used = budget.used_bytes(whose);
  return used == bytes_ || used + more <= budget.limits_.share_bytes;
}

void ByteBudget::Charge::move_to(Account account) {
  if (account == account_ || bytes_ == 0) return;
  budget_->subtract_from_share(account_, bytes_);
  account_ = account;
  budget_->add_to_share(account_, 0, bytes_, Rule::must);
}

void ByteBudget::Charge::resize_to_zero() {
  if (bytes_ == 0) return;
  budget_->subtract(account_, bytes_);
  bytes_ = 0;
}

}  // namespace vg

// Names to addresses. The network library does it on one helper thread per core, so that a slow name server holds up
// nothing but the look-up itself, and never more than one thread.
#include <fmt/core.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstring>

#include "base/limits.h"
#include "http/core_asio.h"
#include "http/tcp_dial.h"

namespace vg::http::detail {
namespace {

using Resolver = boost::asio::ip::basic_resolver<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;
using Clock = Stream::Clock;
using Alarm =
    boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, boost::asio::io_context::executor_type>;

// Shared by the coroutine that waits, the look-up and the alarm: whichever of them comes last frees it.
struct Lookup {
  explicit Lookup(Core& core) : resolver(reactor_of(core).get_executor()), alarm(reactor_of(core).get_executor()) {}
  Resolver resolver;
  Alarm alarm;
  std::coroutine_handle<> waiting;
  boost::system::error_code code;
  std::vector<Address> addresses;
  bool done = false;

  void finish(const boost::system::error_code& result) {
    code = result;
    done = true;
    alarm.cancel();
    if (waiting) std::exchange(waiting, nullptr).resume();
  }
};

struct Finished {
  Lookup& lookup;
  ~Finished() { lookup.waiting = nullptr; }
  bool await_ready() const { return lookup.done; }
  void await_suspend(std::coroutine_handle<> coroutine) { lookup.waiting = coroutine; }
  void await_resume() const {}
};

}  // namespace

Task<Result<std::vector<Address>>> resolve(Core& core, std::string host, std::uint16_t port,
                                           Stream::Clock::time_point deadline) {
  auto lookup = std::make_shared<Lookup>(core);
  lookup->resolver.async_resolve(host, std::to_string(port), Resolver::flags::numeric_service,
                                 [lookup](const boost::system::error_code& code, const auto& found) {
                                   if (lookup->done) return;
                                   for (const auto& entry : found) {
                                     if (lookup->addresses.size() == limits::resolved_addresses_max) break;
                                     const auto endpoint = entry.endpoint();
                                     Address address{.family = endpoint.protocol().family(),
                                                     .length = static_cast<std::uint32_t>(endpoint.size())};
                                     if (endpoint.size() > sizeof address.bytes) continue;
                                     std::memcpy(address.bytes, endpoint.data(), endpoint.size());
                                     lookup->addresses.push_back(address);
                                   }
                                   lookup->finish(code);
                                 });
  lookup->alarm.expires_at(deadline);
  lookup->alarm.async_wait([lookup](const boost::system::error_code& code) {
    if (!code && !lookup->done) lookup->finish(boost::asio::error::timed_out);
  });
  co_await Finished{*lookup};
  if (lookup->code == boost::asio::error::timed_out)
    co_return fail(Status::timeout(fmt::format("looking up the address of {} took too long", host)));
  if (lookup->code)
    co_return fail(Status::unavailable(fmt::format("cannot find the address of {}: {}", host, lookup->code.message())));
  co_return std::move(lookup->addresses);
}

}  // namespace vg::http::detail

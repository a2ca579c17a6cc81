#include "ui.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "api_access.h"
#include "base/background.h"
#include "base/clock.h"
#include "command.h"
#include "http/core.h"
#include "json/access.h"
#include "json/document.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/rate_limiter.h"

namespace vg::cmd {
namespace {

struct UiOptions {
  std::string state, kubeconfig;
};

std::string page_url(const http::Origin& origin) {
  const bool bare = origin.host.contains(':');
  return fmt::format("https://{}{}{}:{}/ui/", bare ? "[" : "", origin.host, bare ? "]" : "", origin.port);
}

Task<void> ask_and_stop(http::EventLoop& loop, kube::Client& client, Result<std::string>& code) {
  auto answer = co_await client.ask(
      loop, {.method = "POST", .target = "/ui/codes", .subject = {.verb = "CREATE", .resource = "codes"}});
  if (!answer) {
    code = fail(answer.error());
  } else {
    const auto document = json::Document::parse(answer->body);
    const std::string_view text = document ? json::get_string_or(document->root(), "code") : std::string_view();
    if (text.empty())
      code = fail(Status::internal_error("the server gave no sign-in code"));
    else
      code = std::string(text);
  }
  loop.stop();
}

Result<std::string> ask_for_code(kube::ClusterAccess access) {
  const SystemClock clock;
  kube::Credentials credentials(std::move(access), clock);
  kube::RateLimiter limiter(clock, {.per_second = 10, .burst = 10});
  kube::Client client(
      {.credentials = credentials, .limiter = limiter, .user_agent = "virtgate-ui/" VIRTGATE_VERSION, .headers = {}});
  const auto loop = http::EventLoop::create(0);
  Result<std::string> code;
  {
    Background task;
    loop->post([&] { task = Background(or_end(ask_and_stop(*loop, client, code))); });
    loop->run();
  }
  client.close();
  return code;
}

}  // namespace

int run_ui(std::span<const std::string_view> arguments, Output output) {
  UiOptions options;
  const std::vector<Flag> flags{
      {"state", '\0', &options.state, "DIR",
       "of the server (default $XDG_STATE_HOME/virtgate, else ~/.local/state/virtgate)"},
      {"kubeconfig", '\0', &options.kubeconfig, "FILE",
       "of the user who signs in (default admin.kubeconfig of the state folder)"},
  };
  const CommandLine command{
      .name = "ui",
      .synopsis = "[flags]",
      .description =
          "Prints a link to the page of a running server that signs a browser in as the user of the kubeconfig. The "
          "link can be used once, within five minutes: who opens it is that user until the session ends.",
      .examples = "virtgate ui\nxdg-open \"$(virtgate ui)\"\nvirtgate ui --kubeconfig alice.kubeconfig"};
  const auto read = read_command(command, flags, arguments, output);
  if (!read) return read.error();
  const auto failed = [&](const Status& status) {
    fmt::print(output.err, "virtgate ui: {}\n", status.message);
    return exit_failed;
  };
  auto access = find_api(options.kubeconfig, options.state);
  if (!access) return failed(access.error());
  const std::string url = page_url(access->origin);
  const auto code = ask_for_code(std::move(*access));
  if (!code && code.error().code == 404) {
    fmt::print(output.err,
               "virtgate ui: the server has no page; it was started with --ui=false, or is not virtgate serve\n");
    return exit_failed;
  }
  if (!code) return failed(code.error());
  fmt::print(output.out, "{}#/login/{}\n", url, *code);
  return exit_ok;
}

}  // namespace vg::cmd

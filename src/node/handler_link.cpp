#include "node/handler_link.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/limits.h"
#include "base/names.h"
#include "base/net.h"
#include "json/access.h"
#include "json/arena.h"
#include "tracing/hand_over.h"

namespace vg::node {
namespace {

constexpr ResourceName pods{"", "v1", "pods"};
constexpr std::string_view handler_label = "kubevirt.io=virt-handler";
constexpr std::string_view handler_name = "kubevirt.io:system:node:virt-handler";
constexpr std::string_view subprotocol = "plain.kubevirt.io";

std::string_view text_at(const json::Value& value, std::initializer_list<std::string_view> path) {
  return json::as_string(json::find_path(value, path)).value_or("");
}

// A pod on its way out, or one that ended, answers nobody; while handlers are replaced there may be one beside the new
// one.
bool answers(const json::Value& pod) {
  const std::string_view phase = text_at(pod, {"status", "phase"});
  return phase != "Succeeded" && phase != "Failed" && !json::find_path(pod, {"metadata", "deletionTimestamp"});
}

// The address of the one handler on that node.
Result<std::string> choose(const std::vector<json::Value>& all, std::string_view node) {
  const json::Value* found = nullptr;
  for (const json::Value& pod : all) {
    if (!answers(pod)) continue;
    if (found)
      return fail(Status::bad_request(fmt::format(
          "more than one virt-handler pod is running on node \"{}\" ({} and {}); wait until one of them is gone", node,
          text_at(*found, {"metadata", "name"}), text_at(pod, {"metadata", "name"}))));
    found = &pod;
  }
  if (!found)
    return fail(Status::bad_request(
        fmt::format("no virt-handler pod is running on node \"{}\" (label {})", node, handler_label)));
  const std::string_view address = text_at(*found, {"status", "podIP"});
  // In digits: a name would be looked up, and whoever answers for it would be dialled.
  if (!parse_ip(address))
    return fail(Status::bad_request(fmt::format("virt-handler of node \"{}\" (pod {}) has no address yet", node,
                                                text_at(*found, {"metadata", "name"}))));
  return std::string(address);
}

http::Origin origin_of(const NodeAddress& address) {
  return {.host = address.host, .port = address.port, .tls = true, .server_name = {}};
}

// The node goes on with the caller's trace.
void add_trace(http::ClientRequest& request, const tracing::Context& trace) {
  if (!trace) return;
  request.headers.emplace_back("traceparent", tracing::print_traceparent(trace));
  if (!trace.state.empty()) request.headers.emplace_back("tracestate", trace.state);
}

NodeAnswer answer_of(http::Answer answer) {
  return {.status = answer.head.status, .phrase = std::move(answer.head.reason), .body = std::move(answer.body)};
}

}  // namespace

HandlerLink::HandlerLink(ObjectApi& objects, HandlerLinkOptions options)
    : objects_(objects), options_(std::move(options)) {}

HandlerLink::~HandlerLink() = default;

void HandlerLink::close() {
  const std::scoped_lock lock(mutex_);
  clients_.clear();
}

Task<Result<NodeAddress>> HandlerLink::find(Core& core, std::string_view node) {
  json::Arena arena(16 * limits::kib);  // for one pod
  // The name comes from a status, and a selector is a language: "a,status.phase!=b" would be two questions. An empty
  // name finds nobody.
  if (const auto defects = dns1123_subdomain_defects(node); !defects.empty())
    co_return fail(Status::bad_request(fmt::format("\"{}\" is not a valid node name: {}", node, defects.front())));
  const std::string on_node = fmt::format("spec.nodeName={}", node);
  const auto listed =
      co_await objects_.list(core, pods, options_.ns, {.labels = handler_label, .fields = on_node}, arena.storage());
  if (!listed)
    co_return fail(Status::bad_request(
        fmt::format("virt-handler of node \"{}\" cannot be looked up: {}", node, listed.error().message)));
  auto host = choose(*listed, node);
  if (!host) co_return fail(std::move(host.error()));
  co_return NodeAddress{.host = std::move(*host), .port = options_.port};
}

Task<Result<NodeAnswer>> HandlerLink::call(Core& core, const NodeAddress& address, NodeRequest request) {
  http::ClientRequest asked{.method = request.method, .target = request.target};
  add_trace(asked, tracing::take_over());
  if (request.accept_json) asked.headers.emplace_back("Accept", "application/json");
  asked.body = request.body;
  asked.timeout = request.timeout;
  asked.body_limit_bytes = limits::node_answer_bytes_max;
  // What a node has begun it goes on with: a pause that is sent twice would fail the second time.
  asked.repeatable = request.method == "GET";
  auto answer = co_await client(core).fetch(origin_of(address), std::move(asked));
  if (!answer) co_return fail(std::move(answer.error()));
  co_return answer_of(std::move(*answer));
}

Task<Result<NodeStream>> HandlerLink::open(Core& core, const NodeAddress& address, std::string_view target) {
  http::ClientRequest asked{.method = "GET", .target = target};
  add_trace(asked, tracing::take_over());
  asked.timeout = limits::node_answer_deadline;
  asked.body_limit_bytes = limits::node_refusal_bytes_max;
  std::vector<std::string> subprotocols;
  subprotocols.emplace_back(subprotocol);
  auto upgraded = co_await client(core).dial_upgrade(origin_of(address), std::move(asked), std::move(subprotocols));
  if (!upgraded) co_return fail(std::move(upgraded.error()));
  co_return NodeStream{.stream = std::move(upgraded->stream), .refusal = answer_of(std::move(upgraded->refusal))};
}

http::Client& HandlerLink::client(Core& core) {
  const std::scoped_lock lock(mutex_);
  auto& client = clients_[&core];
  if (!client) {
    http::ClientOptions options;
    options.tls = [this] { return tls(); };
    client = std::make_unique<http::Client>(core, std::move(options));
  }
  return *client;
}

Result<std::shared_ptr<const http::TlsClientContext>> HandlerLink::tls() {
  auto certificate = read_file(options_.certificate_file, limits::config_file_bytes_max);
  if (!certificate) return fail(std::move(certificate.error()));
  auto key = read_file(options_.key_file, limits::config_file_bytes_max);
  if (!key) return fail(std::move(key.error()));
  auto authorities = options_.authorities();
  if (!authorities) return fail(std::move(authorities.error()));
  Made made{.certificate = std::move(*certificate), .key = std::move(*key), .authorities = std::move(*authorities)};

  const std::scoped_lock lock(mutex_);
  if (context_ && made == made_) return context_;
  http::TlsClientConfig config;
  config.authorities_pem = made.authorities;
  config.certificate_pem = made.certificate;
  config.key_pem = made.key;
  config.verify_name = options_.verify_address;
  if (!options_.externally_managed) config.common_name = handler_name;
  config.use_intermediates = options_.externally_managed;
  auto context = http::TlsClientContext::create(config);
  if (!context) return fail(std::move(context.error()));
  context_ = std::move(*context);
  made_ = std::move(made);
  return context_;
}

}  // namespace vg::node

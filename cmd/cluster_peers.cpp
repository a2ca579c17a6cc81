#include "cluster_peers.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>
#include <utility>

#include "auth/identify.h"
#include "base/files.h"
#include "base/journal_limits.h"
#include "base/limits.h"
#include "base/net.h"
#include "http/side_by_side.h"
#include "json/access.h"
#include "json/document.h"

namespace vg::cmd {
namespace {

using std::string_view;

constexpr ResourceName pods{"", "v1", "pods"};
constexpr string_view replica_label = "kubevirt.io=virt-api";
constexpr string_view asked_by_header = "X-Virtgate-Replica", user_header = "X-Remote-User",
                      group_header = "X-Remote-Group", system_groups = "system:";
constexpr int same_replica = 421;  // misdirected: whoever asks has asked itself

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return {};
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// The list that a request asks for, without what makes it a watch or is another replica's to know.
std::string list_target(const http::Request& request, std::uint64_t after) {
  std::string target(request.path);
  target += fmt::format("?{}={}", journal::since_parameter, after);
  string_view rest = request.query;
  while (!rest.empty()) {
    const string_view parameter = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(parameter.size() + 1, rest.size()));
    const string_view name = parameter.substr(0, parameter.find('='));
    if (name == "fieldSelector" || name == "limit") target += fmt::format("&{}", parameter);
  }
  return target;
}

// Groups that follow from who somebody is. Others that begin with "system:" nobody is given on the word of a peer: they
// may do everything.
void add_implied_groups(User& user) {
  constexpr string_view account = "system:serviceaccount:";
  if (user.name.starts_with(account)) {
    const string_view rest = string_view(user.name).substr(account.size());
    user.groups.emplace_back("system:serviceaccounts");
    user.groups.push_back(fmt::format("system:serviceaccounts:{}", rest.substr(0, rest.find(':'))));
  }
  user.groups.emplace_back(auth::authenticated_group);
}

// One of the requests that may wait for others at the same time.
class Round {
 public:
  explicit Round(std::atomic<int>& rounds)
      : rounds_(rounds), taken_(rounds.fetch_add(1) < limits::journal_peer_rounds_max) {}
  ~Round() { rounds_.fetch_sub(1); }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  explicit operator bool() const { return taken_; }

 private:
  std::atomic<int>& rounds_;
  const bool taken_;
};

// Adds what a replica answered; why not, when that is not possible.
std::optional<std::string> add_items(string_view body, const json::StoragePtr& storage, json::Array& items) {
  auto document = json::parse(body, storage);
  json::Value* found = document ? json::find(*document, "items") : nullptr;
  if (document && !found) found = json::find(*document, "rows");
  if (!found || !found->is_array()) return "its answer is not a list of requests";
  for (json::Value& item : found->get_array()) items.push_back(std::move(item));
  return std::nullopt;
}

}  // namespace

Result<std::optional<ReplicaQuestion>> read_replica_question(const http::Request& request) {
  const auto asked_by = request.headers.find(asked_by_header);
  const bool has_certificate =
      request.peer && request.peer->certificate && request.peer->certificate->authority == replica_authority;
  if (!asked_by && !has_certificate) return std::nullopt;
  const auto user = request.headers.find(user_header);
  if (!asked_by || !has_certificate || !user || user->empty())
    return fail(Status::unauthorized("only another replica asks so, with its certificate and for a user"));
  ReplicaQuestion question{.user = {},
                           .asked_by = std::string(*asked_by),
                           .authorization = std::string(request.headers.find("authorization").value_or(""))};
  question.user.name = *user;
  for (const http::HeaderField& header : request.headers.fields())
    if (header.name == group_header && !header.value.starts_with(system_groups) &&
        question.user.groups.size() < limits::replica_groups_max)
      question.user.groups.emplace_back(header.value);
  add_implied_groups(question.user);
  return question;
}

ClusterPeers::ClusterPeers(Parts parts) : parts_(std::move(parts)), id_(random_id()) {}

Task<Result<std::vector<ClusterPeers::Peer>>> ClusterPeers::find(Core& core) {
  {
    const std::lock_guard lock(mutex_);
    if (known_ && parts_.clock.steady_now() - known_->at < limits::journal_peers_known_for) co_return known_->peers;
  }
  json::Document document(std::size_t{16} * limits::kib);
  const auto found = co_await parts_.objects.list(core, pods, parts_.ns, {.labels = replica_label}, document.storage());
  if (!found) co_return fail(found.error());
  std::vector<Peer> peers;
  for (const json::Value& pod : *found) {
    const auto text = [&](std::initializer_list<string_view> path) {
      return json::as_string(json::find_path(pod, path)).value_or("");
    };
    const string_view name = text({"metadata", "name"}), address = text({"status", "podIP"});
    // In digits: a name would be looked up, and whoever answers for it would be dialled.
    if (name == parts_.own_name || text({"status", "phase"}) != "Running" || !parse_ip(address)) continue;
    if (json::find_path(pod, {"metadata", "deletionTimestamp"})) continue;
    if (peers.size() == limits::journal_peers_max) break;
    peers.push_back({.name = std::string(name), .address = std::string(address)});
  }
  const std::lock_guard lock(mutex_);
  known_ = Known{.peers = peers, .at = parts_.clock.steady_now()};
  co_return peers;
}

Result<std::shared_ptr<const http::TlsClientContext>> ClusterPeers::tls() const {
  auto certificate = read_file(parts_.certificate_file, limits::config_file_bytes_max);
  auto key = read_file(parts_.key_file, limits::config_file_bytes_max);
  auto authorities = parts_.authorities();
  if (!certificate) return fail(std::move(certificate.error()));
  if (!key) return fail(std::move(key.error()));
  if (!authorities) return fail(std::move(authorities.error()));
  // Without any, those of the system would count, and they sign certificates for everybody.
  if (authorities->empty()) return fail(Status::unavailable("no authority of replicas is known"));
  http::TlsClientConfig config;
  config.authorities_pem = std::move(*authorities);
  config.certificate_pem = std::move(*certificate);
  config.key_pem = std::move(*key);
  config.verify_name = !parts_.externally_managed;
  return http::TlsClientContext::create(config);
}

// Nobody gets the token whose name was not checked.
Result<std::string> ClusterPeers::authorization() const {
  if (parts_.externally_managed)
    return fail(
        Status::unavailable("certificates are managed externally, so that replicas cannot be told apart from "
                            "other components"));
  return parts_.proof.authorization();
}

http::ClientOptions ClusterPeers::client_options() const {
  http::ClientOptions options;
  options.tls = [this] { return tls(); };
  options.idle_per_origin_max = 0;
  options.connect_deadline = limits::journal_peer_deadline;
  options.user_agent = "virt-api/virtgate-" VIRTGATE_VERSION;
  return options;
}

Task<Result<http::Answer>> ClusterPeers::ask(http::Client& client, const Peer& peer, const server::Call& call,
                                             const User& user, string_view target) const {
  const auto proof = authorization();
  if (!proof) co_return fail(proof.error());
  http::ClientRequest request{.method = "GET", .target = target};
  request.headers.emplace_back("Authorization", *proof);
  request.headers.emplace_back(asked_by_header, id_);
  request.headers.emplace_back(user_header, user.name);
  for (const std::string& group : user.groups) request.headers.emplace_back(group_header, group);
  if (const auto accept = call.request().headers.find("accept")) request.headers.emplace_back("Accept", *accept);
  request.timeout = limits::journal_peer_deadline;
  request.body_limit_bytes = limits::journal_peer_answer_bytes_max;
  co_return co_await client.fetch({.host = peer.address,
                                   .port = parts_.port,
                                   .tls = true,
                                   .server_name = fmt::format("virt-api.{}.svc", parts_.ns)},
                                  std::move(request));
}

Task<journal::OfOthers> ClusterPeers::list(server::Call& call, const User& user, std::uint64_t after,
                                           const json::StoragePtr& storage) {
  journal::OfOthers all{.items = json::Array(storage)};
  const Round round(rounds_);
  if (!round) {
    all.missing.emplace_back("other replicas were not asked: too many requests wait for them");
    co_return all;
  }
  const auto peers = co_await find(call.core());
  if (!peers) {
    all.missing.push_back(fmt::format("other replicas are not known: {}", peers.error().message));
    co_return all;
  }
  if (!peers->empty() && user.in_group(auth::administrators_group))
    all.missing.push_back(
        fmt::format("other replicas show what {} may see without the group {}", user.name, auth::administrators_group));
  const std::string target = list_target(call.request(), after);
  http::Client client(call.core(), client_options());
  co_await http::side_by_side(call.core(), peers->size(), peers->size(), [&](std::size_t index) -> Task<void> {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): awaited where its captures live
    const Peer& peer = (*peers)[index];
    const auto answer = co_await ask(client, peer, call, user, target);
    if (answer && answer->head.status == same_replica) co_return;
    std::optional<std::string> why;
    if (!answer)
      why = answer.error().message;
    else if (answer->head.status != 200)
      why = fmt::format("code {}", answer->head.status);
    else
      why = add_items(answer->body, storage, all.items);
    if (why) all.missing.push_back(fmt::format("requests of replica {} are missing: {}", peer.name, *why));
  });
  co_return all;
}

Task<std::optional<http::Response>> ClusterPeers::get(server::Call& call, const User& user) {
  const Round round(rounds_);
  const auto peers = round ? co_await find(call.core()) : Result<std::vector<Peer>>(std::vector<Peer>());
  if (!peers) co_return std::nullopt;
  std::optional<http::Response> found;
  http::Client client(call.core(), client_options());
  const std::string target(call.request().path);
  co_await http::side_by_side(call.core(), peers->size(), peers->size(), [&](std::size_t index) -> Task<void> {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-capturing-lambda-coroutines): awaited where its captures live
    auto answer = co_await ask(client, (*peers)[index], call, user, target);
    if (!answer || answer->head.status != 200 || found) co_return;
    found = http::Response{.status = 200, .content_type = {}, .headers = {}, .body = std::move(answer->body)};
    if (const auto type = answer->head.find("content-type"))
      found->headers.emplace_back("Content-Type", std::string(*type));
  });
  co_return found;
}

std::shared_ptr<void> ClusterPeers::begin_watch() {
  if (watches_->fetch_add(1) >= limits::journal_peer_watches_max) {
    watches_->fetch_sub(1);
    return nullptr;
  }
  return {this, [watches = watches_](void*) { watches->fetch_sub(1); }};
}

}  // namespace vg::cmd

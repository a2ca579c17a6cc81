#include "kube/access_question.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/test_files.h"
#include "http/server_test_support.h"
#include "json/access.h"
#include "json/document.h"
#include "json/write.h"
#include "kube/access_reviews.h"
#include "kube/front_proxy.h"
#include "kube/webhook_client.h"
#include "server/path.h"

namespace vg::kube {
namespace {

constexpr std::string_view base = "/apis/subresources.kubevirt.io/v1/namespaces/ns1/";

AccessQuestion ask(std::string_view method, const std::string& path) {
  static std::string decoded;  // attributes are views into it
  decoded = server::percent_decode(path).value_or("");
  return access_question(method, decoded, path);
}

TEST(AccessQuestionTest, ASubresourceIsEverythingBehindTheName) {
  const auto question = ask("GET", std::string(base) + "virtualmachineinstances/vm/vnc/screenshot");
  EXPECT_EQ(question.need, AccessNeed::allowed);
  EXPECT_EQ(question.attributes.verb, "get");
  EXPECT_EQ(question.attributes.ns, "ns1");
  EXPECT_EQ(question.attributes.name, "vm");
  EXPECT_EQ(question.attributes.subresource, "vnc/screenshot");
}

TEST(AccessQuestionTest, APortIsNoPartOfIt) {
  EXPECT_EQ(ask("GET", std::string(base) + "virtualmachines/vm/portforward/80/tcp").attributes.subresource,
            "portforward");
  EXPECT_EQ(ask("GET", std::string(base) + "virtualmachines/vm/portforwardx/80").attributes.subresource,
            "portforwardx/80");
}

TEST(AccessQuestionTest, WhatCanBeReadInTwoWaysIsRefused) {
  for (const std::string path : {"virtualmachines/vm//start", "virtualmachines//start/x", "virtualmachines/../x/start",
                                 "virtualmachines/a%2Fb/start", "virtualmachines/a%2fb/start", "virtualmachines/./a/b"})
    EXPECT_EQ(ask("PUT", std::string(base) + path).need, AccessNeed::refused) << path;
}

TEST(AccessQuestionTest, OnlyOurOwnGroupIsAskedFor) {
  for (const std::string path : {"/apis/apps/v1/namespaces/n/virtualmachines/a/b", "/apis/subresources.kubevirt.io",
                                 "/api/v1/namespaces/n/virtualmachines/a/b", "/apis/subresources.kubevirt.io/v1/",
                                 "/apis/subresources.kubevirt.io/v1/nodes/n/virtualmachines/a/b", "/nope", "/healthz/"})
    EXPECT_EQ(ask("GET", path).need, AccessNeed::refused) << path;
  EXPECT_EQ(ask("TRACE", std::string(base) + "virtualmachines/vm/start").need, AccessNeed::refused);
}

TEST(AccessQuestionTest, OpenPaths) {
  for (const std::string_view path :
       {"/", "/apis", "/healthz", "/openapi/v2", "/openapi/v3", "/dump-profiler",
        "/openapi/v3/apis/subresources.kubevirt.io/v1alpha3", "/apis/subresources.kubevirt.io/v1",
        "/apis/subresources.kubevirt.io/v1alpha3/guestfs"})
    EXPECT_TRUE(is_open_path(path)) << path;
  for (const std::string_view path :
       {"", "/api", "/openapi/v3/", "/openapi/v3/apis/subresources.kubevirt.io/v1/version",
        "/apis/subresources.kubevirt.io/v2", "/apis/subresources.kubevirt.io/v1/"})
    EXPECT_FALSE(is_open_path(path)) << path;
}

// --- the recordings ------------------------------------------------------------------------------------------------

FrontProxy usual_proxy() {
  return {.authorities_pem = "",
          .allowed_names = std::vector<std::string>(),
          .user_headers = {"X-Remote-User"},
          .group_headers = {"X-Remote-Group"},
          .extra_prefixes = {"X-Remote-Extra-"}};
}

// The review that a recorded request becomes, as text; empty for none.
std::string review_of(const json::Value& row) {
  const std::string target(json::get_string_or(row, "path"));
  const std::string_view certificate = json::get_string_or(row, "certificate");
  const std::string_view method = json::get_string_or(row, "method");
  if (certificate != "front-proxy" || method == "OPTIONS") return "";
  const auto question = ask(method, target.substr(0, target.find('?')));
  if (question.need != AccessNeed::allowed) return "";
  http::Headers headers;
  for (const auto& [name, value] : *json::get_object(row, "headers")) headers.add(name, *json::as_string(&value));
  const auto user = user_of_headers(usual_proxy(), headers);
  return user ? review_spec(*user, question.attributes) : "";
}

TEST(AccessQuestionTest, RecordedRequestsBecomeTheRecordedReviews) {
  std::ifstream file(test_files::recording("access.jsonl"));
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    const auto row = json::Document::parse(line);
    ASSERT_TRUE(row);
    // Stricter on purpose: see COMPATIBILITY.md.
    const auto user = json::as_string(json::find_path(row->root(), {"headers", "X-Remote-User"}));
    if (json::get_string_or(row->root(), "path").contains("%2F") || user == "") {
      EXPECT_EQ(review_of(row->root()), "");
      continue;
    }
    const json::Value* review = json::find(row->root(), "review");
    const bool none = !review || review->is_null();
    const std::string ours = review_of(row->root());
    const auto read = json::Document::parse(ours.empty() ? "null" : ours);
    EXPECT_EQ(json::to_text(read->root(), {.sort_keys = true}),
              none ? "null" : json::to_text(*review, {.sort_keys = true}))
        << line;
    ++rows;
  }
  EXPECT_GT(rows, 100);
}

// --- the front proxy -----------------------------------------------------------------------------------------------

std::string config_map(std::string_view more, bool authorities = true) {
  std::string pem;
  json::write_string(http::test::serving_pair().certificate, pem);
  return R"({"metadata":{},"data":{)" +
         (authorities ? R"("requestheader-client-ca-file":)" + pem : std::string(R"("a":"")")) + std::string(more) +
         "}}";
}

TEST(FrontProxyTest, ReadsTheConfigMap) {
  const auto proxy = read_front_proxy(config_map(
      R"(,"requestheader-allowed-names":"[\"front\"]","requestheader-username-headers":"[\"X-Remote-User\",\"X-Who\"]")"));
  ASSERT_TRUE(proxy) << proxy.error().message;
  EXPECT_EQ(proxy->allowed_names, std::vector<std::string>{"front"});
  EXPECT_EQ(proxy->user_headers, (std::vector<std::string>{"X-Remote-User", "X-Remote-User", "X-Who"}));
  ASSERT_TRUE(proxy->authority());
  EXPECT_EQ(proxy->authority()->common_names, std::vector<std::string>{"front"});
}

TEST(FrontProxyTest, NoNamesMeansAnyAndNoKeyMeansNone) {
  EXPECT_TRUE(read_front_proxy(config_map(R"(,"requestheader-allowed-names":"")"))->authority()->common_names.empty());
  EXPECT_TRUE(
      read_front_proxy(config_map(R"(,"requestheader-allowed-names":"[]")"))->authority()->common_names.empty());
  EXPECT_FALSE(read_front_proxy(config_map(""))->authority());
}

TEST(FrontProxyTest, RefusesWhatCannotBeTrusted) {
  EXPECT_FALSE(read_front_proxy(config_map("", false)));
  EXPECT_FALSE(read_front_proxy(config_map(R"(,"requestheader-group-headers":"X-Remote-Group")")));
  EXPECT_FALSE(read_front_proxy(R"({"data":{"requestheader-client-ca-file":"no certificate"}})"));
}

TEST(FrontProxyTest, AnEmptyUserIsNobody) {
  for (const std::string_view name : {"", " ", "\t"}) {
    http::Headers headers;
    headers.add("X-Remote-User", name);
    headers.add("X-Remote-Group", "system:masters");
    const auto user = user_of_headers(usual_proxy(), headers);
    ASSERT_FALSE(user);
    EXPECT_EQ(user.error().code, 401);
  }
}

TEST(WebhookClientTest, OnlyItsCertificateOrTheFrontProxysWillDo) {
  http::Peer peer;
  http::Request request;
  EXPECT_EQ(refuse_stranger(request)->code, 401);
  request.peer = &peer;
  EXPECT_EQ(refuse_stranger(request)->code, 401);
  for (const std::string_view authority : {"client-ca", ""}) {
    peer.certificate = {.common_name = "x", .organizations = {}, .authority = std::string(authority)};
    EXPECT_EQ(refuse_stranger(request)->code, 401) << authority;
  }
  for (const std::string_view authority : {"webhook-client", "front-proxy"}) {
    peer.certificate = {.common_name = "x", .organizations = {}, .authority = std::string(authority)};
    EXPECT_FALSE(refuse_stranger(request)) << authority;
  }
}

TEST(WebhookClientTest, NamesAreSeparatedByCommas) {
  EXPECT_TRUE(webhook_client_authority("PEM", "").common_names.empty());
  EXPECT_EQ(webhook_client_authority("PEM", "a,,b").common_names, (std::vector<std::string>{"a", "b"}));
}

TEST(FrontProxyTest, NamesTheUser) {
  FrontProxy proxy = usual_proxy();
  proxy.user_headers.push_back("X-Who");
  http::Headers headers;
  headers.add("x-who", "jane");
  EXPECT_FALSE(user_of_headers(proxy, headers)) << "no group";
  headers.add("X-Remote-Group", "a,b");
  headers.add("X-Remote-Group", "c");
  headers.add("X-Remote-Extra-Acme.com%2Fproject", "p");
  const auto user = user_of_headers(proxy, headers);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "jane");
  EXPECT_EQ(user->groups, (std::vector<std::string>{"a,b", "c"}));
  EXPECT_EQ(user->extra.at("acme.com/project"), std::vector<std::string>{"p"});
}

}  // namespace
}  // namespace vg::kube

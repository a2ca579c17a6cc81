#include "ui/proxied.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vg::ui {
namespace {

struct Asked {
  std::string method = "GET", path, query = {};
  bool websocket = false;
};

Result<Proxied> read(const Asked& asked) {
  http::Request request;
  request.method = asked.method;
  request.path = asked.path;
  request.query = asked.query;
  if (asked.websocket) {
    request.headers.add("Connection", "Upgrade");
    request.headers.add("Upgrade", "websocket");
  }
  return read_proxied(request);
}

int code(const Asked& asked) {
  const auto found = read(asked);
  return found ? 200 : found.error().code;
}

std::string at(std::string_view path) { return std::string(proxied_prefix) + std::string(path); }

TEST(Proxied, WhatThePageNeedsPasses) {
  struct Row {
    const char *method, *path;
    Passage passage = Passage::answer;
    bool websocket = false;
  };
  for (const Row& row : std::vector<Row>{
           {"GET", "/version"},
           {"GET", "/openapi/v3/api/v1"},
           {"GET", "/openapi/v3/apis/kubevirt.io/v1"},
           {"GET", "/api/v1/nodes"},
           {"GET", "/api/v1/namespaces"},
           {"GET", "/api/v1/namespaces/a"},
           {"GET", "/api/v1/namespaces/a/events"},
           {"POST", "/api/v1/namespaces/a/persistentvolumeclaims"},
           {"GET", "/apis/kubevirt.io/v1/virtualmachines"},
           {"POST", "/apis/kubevirt.io/v1/namespaces/a/virtualmachines"},
           {"PUT", "/apis/kubevirt.io/v1/namespaces/a/virtualmachines/vm-1.x"},
           {"DELETE", "/apis/kubevirt.io/v1/namespaces/a/virtualmachineinstances/b"},
           {"PUT", "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachines/b/start"},
           {"GET", "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/vnc/screenshot"},
           {"GET", "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/console", Passage::stream,
            true},
           {"GET", "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/vnc", Passage::stream,
            true},
           // for the reason of a refusal
           {"GET", "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/vnc"},
       }) {
    const auto found = read({.method = row.method, .path = at(row.path), .query = "x=1", .websocket = row.websocket});
    ASSERT_TRUE(found) << row.path << found.error().message;
    EXPECT_EQ(found->passage, row.passage) << row.path;
    EXPECT_EQ(found->target, std::string(row.path) + "?x=1");
  }
}

TEST(Proxied, NothingElseDoes) {
  for (const char* path : {
           "/",
           "/api",
           "/apis",
           "/api/v1",
           "/metrics",
           "/healthz",
           "/ui/session",
           "/logs",
           "/debug/pprof",
           "/openapi/v2",
           "/openapi/v3",
           "/openapi/v3/apis/apps/v1",
           "/api/v1/secrets",
           "/api/v1/namespaces/a/secrets/b",
           "/api/v1/namespaces/a/configmaps",
           "/api/v1/namespaces/a/pods",
           "/api/v1/namespaces/a/pods/b/exec",
           "/api/v1/namespaces/a/pods/b/proxy",
           "/api/v1/namespaces/a/serviceaccounts/b/token",
           "/api/v1/nodes/a/proxy",
           "/api/v1/nodes/a/proxy/x",
           "/api/v1/namespaces/a/finalize",
           "/api/v1/namespaces/a/b/c/d",
           "/apis/apps/v1/deployments",
           "/apis/rbac.authorization.k8s.io/v1/clusterroles",
           "/apis/authentication.k8s.io/v1/tokenreviews",
           "/apis/kubevirt.io/v1",
           "/apis/kubevirt.io/v1/kubevirts",
           "/apis/kubevirt.io/v1/namespaces/a/virtualmachines/b/status",
           "/apis/subresources.kubevirt.io/v1/version",
           "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/portforward/22",
           "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/console/x",
           "/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachineinstances/b/sev/injectlaunchsecret",
       })
    EXPECT_EQ(code({.path = at(path)}), std::string_view(path) == "/" ? 400 : 404) << path;
  EXPECT_EQ(code({.path = std::string(proxied_prefix)}), 404);
}

TEST(Proxied, APathMeansOneThing) {
  for (const char* path : {
           "/api/v1/../v1/nodes",
           "/api/../secrets",
           "/api/v1/./nodes",
           "/api//v1/nodes",
           "//api/v1/nodes",
           "/api/v1/nodes/",
           "/api/v1/namespaces/a%2fb",
           "/api/v1/namespaces/%2e%2e",
           "/api/v1/nodes%00",
           "/api/v1/nodes;x=1",
           "/api/v1/nodes\\x",
           "/api/v1/namespaces/a\r\nX: y",
           "/api/v1/namespaces/a b",
           "/api/v1/namespaces/\xc3\xa4",
           "/api/v1/nodes%3fwatch=1",
           "/%61pi/v1/nodes",
           "/api/v1/nodes#x",
           "/..",
       })
    EXPECT_EQ(code({.path = at(path)}), 400) << path;
  // The route was found by the decoded path.
  EXPECT_EQ(code({.path = "/ui/%63luster/api/v1/nodes"}), 400);
  EXPECT_EQ(code({.path = at("x/api/v1/nodes")}), 404);
  for (const char* query : {"a b", "a\r\nHost: x", "a#b", "a\x01"})
    EXPECT_EQ(code({.path = at("/api/v1/nodes"), .query = query}), 400) << query;
  EXPECT_EQ(code({.path = at("/api/v1/nodes"), .query = std::string(5000, 'x')}), 400);
  EXPECT_EQ(code({.path = at("/api/v1/nodes"), .query = std::string(4000, '&')}), 400);
}

TEST(Proxied, MethodsFitThePath) {
  const std::string list = at("/apis/kubevirt.io/v1/namespaces/a/virtualmachines"), one = list + "/b";
  for (const char* method : {"DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "get"})
    EXPECT_EQ(code({.method = method, .path = list}), 405) << method;
  for (const char* method : {"POST", "PATCH", "OPTIONS"}) EXPECT_EQ(code({.method = method, .path = one}), 405);
  EXPECT_EQ(code({.method = "POST", .path = at("/version")}), 405);
  const std::string action = at("/apis/subresources.kubevirt.io/v1/namespaces/a/virtualmachines/b/start");
  EXPECT_EQ(code({.method = "GET", .path = action}), 405);
  EXPECT_EQ(code({.method = "PUT", .path = action, .websocket = true}), 400);
  EXPECT_EQ(code({.path = list, .query = "watch=1", .websocket = true}), 400);
}

TEST(Proxied, WatchesGoOn) {
  const std::string list = at("/apis/kubevirt.io/v1/virtualmachines");
  for (const char* query : {"watch=1", "watch=true", "a=b&watch=t", "w%61tch=1", "watch=TRUE"})
    EXPECT_EQ(read({.path = list, .query = query})->passage, Passage::watch) << query;
  for (const char* query : {"", "watch=0", "watch=false", "nowatch=1"})
    EXPECT_EQ(read({.path = list, .query = query})->passage, Passage::answer) << query;
}

TEST(Proxied, MediaTypes) {
  const auto type = [](const char* given) {
    http::Headers headers;
    headers.add("Content-Type", given);
    const auto found = proxied_body_type(headers);
    return found ? std::string(*found) : std::to_string(found.error().code);
  };
  EXPECT_EQ(type("application/json"), "application/json");
  EXPECT_EQ(type("Application/YAML; charset=utf-8"), "application/yaml");
  EXPECT_EQ(type("text/html"), "415");
  EXPECT_EQ(type("application/json, text/html"), "415");
  EXPECT_EQ(told_media_type("application/json; charset=utf-8"), "application/json");
  for (const char* given : {"text/html", "image/svg+xml", "application/javascript", "", "text/html; application/json"})
    EXPECT_EQ(told_media_type(given), "application/octet-stream") << given;
}

}  // namespace
}  // namespace vg::ui

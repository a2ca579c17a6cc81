// The documents by which clients learn what is served: discovery in its three forms, OpenAPI, the root paths.
// All of them follow from the schema; nothing large is kept in memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vg::resources {

struct DiscoveryRequest {
  std::string_view path;  // decoded
  std::string_view query = {};
  std::string_view accept = {};  // the headers as they came; empty when absent
  std::string_view if_none_match = {};
  std::string_view host = {};  // by which the client reached the server: told to clients that ask where it is
};

struct Document {
  int status = 200;  // also 304 (no body), 301 (see location) and 406 (the body is a Status)
  std::string content_type = {};
  std::string body = {};
  std::string etag = {};           // for the header ETag, with its quotes; empty: none
  std::string cache_control = {};  // for the header Cache-Control; empty: none
  std::string location = {};       // for the header Location; empty: none
};

// Nothing when there is no document at this path. For GET and HEAD; every answer varies by Accept.
std::optional<Document> discovery_document(const DiscoveryRequest& request);

inline std::optional<Document> discovery_document(std::string_view path, std::string_view accept,
                                                  std::string_view if_none_match) {
  return discovery_document({.path = path, .accept = accept, .if_none_match = if_none_match});
}

}  // namespace vg::resources

// What all discovery documents share: their tag, and the answer to a client that has the document already.
#pragma once

#include <string>
#include <string_view>

#include "discovery/discovery.h"

namespace vg::resources {

// Whoever keeps a document must ask before using it again; that costs no body.
inline constexpr std::string_view revalidate = "no-cache, private";

// A digest of the content, upper-case hexadecimal.
std::string content_hash(std::string_view body);

// Whether the header If-None-Match names the tag (or everything).
bool matches_tag(std::string_view if_none_match, std::string_view etag);

// The document, or 304 when the client has it.
Document finish_document(std::string body, std::string_view content_type, const DiscoveryRequest& request);

Document not_acceptable(std::string_view what_there_is);

}  // namespace vg::resources

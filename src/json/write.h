// Values to compact text, byte for byte as Go's encoding/json prints them, so that what we send compares equal to what
// Kubernetes' components send.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "json/value.h"

namespace vg::json {

struct WriteOptions {
  // Print < > & as \u escapes, as Go does unless told otherwise. U+2028 and U+2029 are always escaped, as in Go.
  bool escape_html = false;
  // Members in the byte order of their names, as Go prints maps, instead of the order in which they were added.
  bool sort_keys = false;
};

// Append to `out`. Nesting is followed by recursion: parse and the patches keep it within limits::json_depth_max.
void write(const Value& value, std::string& out, const WriteOptions& options = {});
void write(const Object& object, std::string& out, const WriteOptions& options = {});
void write(const Array& array, std::string& out, const WriteOptions& options = {});

std::string to_text(const Value& value, const WriteOptions& options = {});

// A string with its quotes. What is no UTF-8 becomes \ufffd.
void write_string(std::string_view text, std::string& out, const WriteOptions& options = {});

// About the size of the text, before escapes. For callers that want to reserve; write itself does not need it.
std::size_t size_hint(const Value& value);

}  // namespace vg::json

// The words that go with a status code.
#pragma once

#include <string>
#include <string_view>

namespace vg::http {

// "HTTP/1.1 404 Not Found\r\n"
void append_status_line(std::string& out, int code);
// Kubernetes' reason for an error that the server answers by itself; empty where it has none.
std::string_view status_reason(int code);

}  // namespace vg::http

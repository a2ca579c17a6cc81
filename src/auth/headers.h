// What authentication by a front proxy and impersonation read from the header fields alike.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"

namespace vg::auth {

// Header names are ASCII, so letter case is too.
bool starts_with_fold(std::string_view text, std::string_view prefix);

// Every value of that name that is not empty, in the order of arrival. One field is one value: a group may hold commas.
std::vector<std::string> header_values(const http::Headers& headers, std::string_view name);

// The fields "PREFIXkey": their keys in lower case and percent-decoded (as they are where that fails), with the values
// in the order of arrival.
std::map<std::string, std::vector<std::string>> extra_headers(const http::Headers& headers, std::string_view prefix);

}  // namespace vg::auth

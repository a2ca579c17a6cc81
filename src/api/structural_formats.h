// The patterns and formats that occur in upstream's schemas, each as a small scanner. There is no regular expression
// engine here: none of ours could be talked into exponential time, and five patterns do not need one.
#pragma once

#include <string_view>

namespace vg::api {

using TextCheck = bool (*)(std::string_view);

// The scanner for a pattern exactly as schema/ has it, or null. A test keeps the two in step.
TextCheck find_pattern(std::string_view pattern);

// What a quantity must look like before anybody reads its value.
bool looks_like_quantity(std::string_view text);

// The format "date-time" as go-openapi reads it, which is not quite RFC 3339: letters in either case, any character
// before the fraction, and no end to what may follow a second T.
bool is_date_time(std::string_view text);

// Whether go-openapi takes a floating-point number for an integer: up to 2^53 - 1, and off by one part in 10^9 at most.
bool is_json_integer(double number);

}  // namespace vg::api

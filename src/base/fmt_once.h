// The formatter itself is compiled in fmt_impl.cpp alone: fmt 9 makes it anew in every file that appends to a string
// (fmt::format_to), which took two seconds each. Read with the common headers (cmake/virtgate.cmake).
#pragma once

#include <fmt/format.h>

extern template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&, fmt::string_view,
                                                   fmt::basic_format_args<fmt::buffer_context<char>>,
                                                   fmt::detail::locale_ref);

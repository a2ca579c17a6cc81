// The one place where the formatting library's own code is compiled. Debian ships it as a shared library only, and that
// one brings the shared C++ runtime along (see ARCHITECTURE.md, decisions).
#include <fmt/format-inl.h>

#include "base/fmt_once.h"

// What is declared as instantiated elsewhere, by format.h and by us; here is elsewhere.
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&, fmt::string_view,
                                            fmt::basic_format_args<fmt::buffer_context<char>>, fmt::detail::locale_ref);
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);

// The one place where the formatting library's own code is compiled. Debian ships it as a shared library only, and that
// one brings the shared C++ runtime along (see ARCHITECTURE.md, decisions).
#include <fmt/format-inl.h>

// Two templates that format.h declares as instantiated elsewhere; here is elsewhere.
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);

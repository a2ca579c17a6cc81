#include "cel/functions.h"

namespace vg::cel {
namespace {

// What kube-apiserver 1.35 knows in admission policies beyond the standard functions. Which version of an extension it
// has matters: strings of version 2 (no reverse), lists of version 3, no math.
// clang-format off
#define VG_MIXED_NUMBERS \
  "int double = bool; int uint = bool; uint double = bool; uint int = bool; double int = bool; double uint = bool"
#define VG_ORDERED_LISTS(result) \
  ".[]int = " result "; .[]uint = " result "; .[]double = " result "; .[]bool = " result "; .[]duration = " result \
  "; .[]timestamp = " result "; .[]string = " result "; .[]bytes = " result
#define VG_EXTREME_LISTS \
  ".[]int = int; .[]uint = uint; .[]double = double; .[]bool = bool; .[]duration = duration; " \
  ".[]timestamp = timestamp; .[]string = string; .[]bytes = bytes"
#define VG_SORTED_LISTS \
  ".[]int = []int; .[]uint = []uint; .[]double = []double; .[]bool = []bool; .[]duration = []duration; " \
  ".[]timestamp = []timestamp; .[]string = []string; .[]bytes = []bytes"
#define VG_COMPARED(type) "." type " " type " = bool"
#define VG_FORMAT " = kubernetes.NamedFormat"
#define VG_RESOURCE_CHECK ".kubernetes.authorization.ResourceCheck string = kubernetes.authorization.ResourceCheck"

constexpr Function policy_function_rows[] = {
    {"_<_", VG_MIXED_NUMBERS},
    {"_<=_", VG_MIXED_NUMBERS},
    {"_>_", VG_MIXED_NUMBERS},
    {"_>=_", VG_MIXED_NUMBERS},
    // optional values
    {"_[_]", "optional[[]T] int = optional[T]; optional[map[K]V] K = optional[V]"},
    {"_[?_]", "[]T int = optional[T]; optional[[]T] int = optional[T]; map[K]V K = optional[V]; "
              "optional[map[K]V] K = optional[V]"},
    {"optional.none", " = optional[T]"},
    {"optional.of", "T = optional[T]"},
    {"optional.ofNonZeroValue", "T = optional[T]"},
    {"optional.unwrap", "[]optional[T] = []T"},
    {"unwrapOpt", ".[]optional[T] = []T"},
    {"hasValue", ".optional[T] = bool"},
    {"value", ".optional[T] = T"},
    {"or", ".optional[T] optional[T] = optional[T]"},
    {"orValue", ".optional[T] T = T"},
    // strings
    {"charAt", ".string int = string"},
    {"format", ".string []dyn = string"},
    {"indexOf", ".string string = int; .string string int = int; .[]T T = int"},
    {"join", ".[]string = string; .[]string string = string"},
    {"lastIndexOf", ".string string = int; .string string int = int; .[]T T = int"},
    {"lowerAscii", ".string = string"},
    {"replace", ".string string string = string; .string string string int = string"},
    {"split", ".string string = []string; .string string int = []string"},
    {"strings.quote", "string = string"},
    {"substring", ".string int = string; .string int int = string"},
    {"trim", ".string = string"},
    {"upperAscii", ".string = string"},
    // lists
    {"distinct", ".[]T = []T"},
    {"first", ".[]T = optional[T]"},
    {"flatten", ".[][]T = []T; .[]dyn int = []dyn"},
    {"isSorted", VG_ORDERED_LISTS("bool")},
    {"last", ".[]T = optional[T]"},
    {"lists.range", "int = []int"},
    {"max", VG_EXTREME_LISTS},
    {"min", VG_EXTREME_LISTS},
    {"reverse", ".[]T = []T"},
    {"slice", ".[]T int int = []T"},
    {"sort", VG_SORTED_LISTS},
    {"@sortByAssociatedKeys", ".[]T []int = []T; .[]T []uint = []T; .[]T []double = []T; .[]T []bool = []T; "
                              ".[]T []duration = []T; .[]T []timestamp = []T; .[]T []string = []T; "
                              ".[]T []bytes = []T"},
    {"sum", ".[]int = int; .[]uint = uint; .[]double = double; .[]duration = duration"},
    {"sets.contains", "[]T []T = bool"},
    {"sets.equivalent", "[]T []T = bool"},
    {"sets.intersects", "[]T []T = bool"},
    // patterns
    {"find", ".string string = string"},
    {"findAll", ".string string = []string; .string string int = []string"},
    // URLs
    {"url", "string = kubernetes.URL"},
    {"isURL", "string = bool"},
    {"getScheme", ".kubernetes.URL = string"},
    {"getHost", ".kubernetes.URL = string"},
    {"getHostname", ".kubernetes.URL = string"},
    {"getPort", ".kubernetes.URL = string"},
    {"getEscapedPath", ".kubernetes.URL = string"},
    {"getQuery", ".kubernetes.URL = map[string][]string"},
    // quantities
    {"quantity", "string = kubernetes.Quantity"},
    {"isQuantity", "string = bool"},
    {"asInteger", ".kubernetes.Quantity = int"},
    {"asApproximateFloat", ".kubernetes.Quantity = double"},
    {"isInteger", ".kubernetes.Quantity = bool"},
    {"sign", "kubernetes.Quantity = int"},
    {"add", ".kubernetes.Quantity kubernetes.Quantity = kubernetes.Quantity; "
            ".kubernetes.Quantity int = kubernetes.Quantity"},
    {"sub", ".kubernetes.Quantity kubernetes.Quantity = kubernetes.Quantity; "
            ".kubernetes.Quantity int = kubernetes.Quantity"},
    {"isGreaterThan", VG_COMPARED("kubernetes.Quantity") "; " VG_COMPARED("kubernetes.Semver")},
    {"isLessThan", VG_COMPARED("kubernetes.Quantity") "; " VG_COMPARED("kubernetes.Semver")},
    {"compareTo", ".kubernetes.Quantity kubernetes.Quantity = int; .kubernetes.Semver kubernetes.Semver = int"},
    // addresses
    {"ip", "string = net.IP; .net.CIDR = net.IP"},
    {"isIP", "string = bool"},
    {"ip.isCanonical", "string = bool"},
    {"family", ".net.IP = int"},
    {"isUnspecified", ".net.IP = bool"},
    {"isLoopback", ".net.IP = bool"},
    {"isLinkLocalMulticast", ".net.IP = bool"},
    {"isLinkLocalUnicast", ".net.IP = bool"},
    {"isGlobalUnicast", ".net.IP = bool"},
    {"cidr", "string = net.CIDR"},
    {"isCIDR", "string = bool"},
    {"containsIP", ".net.CIDR string = bool; .net.CIDR net.IP = bool"},
    {"containsCIDR", ".net.CIDR string = bool; .net.CIDR net.CIDR = bool"},
    {"masked", ".net.CIDR = net.CIDR"},
    {"prefixLength", ".net.CIDR = int"},
    {"string", "net.IP = string; net.CIDR = string"},
    // formats
    {"format.named", "string = optional[kubernetes.NamedFormat]"},
    {"format.dns1123Label", VG_FORMAT},
    {"format.dns1123Subdomain", VG_FORMAT},
    {"format.dns1035Label", VG_FORMAT},
    {"format.dns1123LabelPrefix", VG_FORMAT},
    {"format.dns1123SubdomainPrefix", VG_FORMAT},
    {"format.dns1035LabelPrefix", VG_FORMAT},
    {"format.qualifiedName", VG_FORMAT},
    {"format.labelValue", VG_FORMAT},
    {"format.uri", VG_FORMAT},
    {"format.uuid", VG_FORMAT},
    {"format.byte", VG_FORMAT},
    {"format.date", VG_FORMAT},
    {"format.datetime", VG_FORMAT},
    {"validate", ".kubernetes.NamedFormat string = optional[[]string]"},
    // versions
    {"semver", "string = kubernetes.Semver; string bool = kubernetes.Semver"},
    {"isSemver", "string = bool; string bool = bool"},
    {"major", ".kubernetes.Semver = int"},
    {"minor", ".kubernetes.Semver = int"},
    {"patch", ".kubernetes.Semver = int"},
    // permissions
    {"path", ".kubernetes.authorization.Authorizer string = kubernetes.authorization.PathCheck"},
    {"group", ".kubernetes.authorization.Authorizer string = kubernetes.authorization.GroupCheck"},
    {"serviceAccount", ".kubernetes.authorization.Authorizer string string = kubernetes.authorization.Authorizer"},
    {"resource", ".kubernetes.authorization.GroupCheck string = kubernetes.authorization.ResourceCheck"},
    {"subresource", VG_RESOURCE_CHECK},
    {"namespace", VG_RESOURCE_CHECK},
    {"name", VG_RESOURCE_CHECK},
    {"fieldSelector", VG_RESOURCE_CHECK},
    {"labelSelector", VG_RESOURCE_CHECK},
    {"check", ".kubernetes.authorization.PathCheck string = kubernetes.authorization.Decision; "
              ".kubernetes.authorization.ResourceCheck string = kubernetes.authorization.Decision"},
    {"allowed", ".kubernetes.authorization.Decision = bool"},
    {"reason", ".kubernetes.authorization.Decision = string"},
    {"errored", ".kubernetes.authorization.Decision = bool"},
    {"error", ".kubernetes.authorization.Decision = string"},
};
// clang-format on

}  // namespace

std::span<const Function> policy_functions() { return policy_function_rows; }

}  // namespace vg::cel

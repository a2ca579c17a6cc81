// The formats of names that Kubernetes knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vg {

// What is wrong with a name, in words that can follow "field: ". Empty: nothing. There is one entry for each defect
// that Kubernetes counts, because some answers list every one of them as a cause.
using Defects = std::vector<std::string>;

Defects dns1123_label_defects(std::string_view name);
Defects dns1123_subdomain_defects(std::string_view name);
Defects dns1035_label_defects(std::string_view name);
// A label key, and many other keys: a name, or a subdomain, '/' and a name.
Defects qualified_name_defects(std::string_view name);
Defects label_value_defects(std::string_view value);
// What can stand in a request path. Upstream neither asks for a name nor bounds it here.
Defects path_segment_defects(std::string_view name);
// The name of a service's or an interface's port.
Defects port_name_defects(std::string_view name);

// The name for metadata.generateName: the beginning of `base`, cut so that the result is at most a label long, and five
// characters from `random`.
std::string expand_generate_name(std::string_view base, std::uint64_t random);

}  // namespace vg

#include "objects/runtime_classes.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/access.h"

namespace vg::resources {
namespace {

std::string_view text(const json::Value& object, std::string_view name) { return json::get_string_or(object, name); }

// Whether whatever the second toleration tolerates is tolerated by the first.
bool covers(const json::Value& wide, const json::Value& narrow) {
  if (wide == narrow) return true;
  const bool exists = text(wide, "operator") == "Exists";
  if (text(wide, "key") != text(narrow, "key") && !(text(wide, "key").empty() && exists)) return false;
  if (text(wide, "effect") != text(narrow, "effect") && !text(wide, "effect").empty()) return false;
  if (text(wide, "effect") == "NoExecute" || text(narrow, "effect") == "NoExecute") {
    const auto longest = json::get_int(wide, "tolerationSeconds");
    const auto wanted = json::get_int(narrow, "tolerationSeconds");
    if (longest && (!wanted || *longest < *wanted)) return false;
  }
  return exists || (text(narrow, "operator") != "Exists" && text(wide, "value") == text(narrow, "value"));
}

std::optional<std::string> add_node_selector(json::Object& spec, const json::Object& wanted) {
  json::Object& selector = json::ensure_object(spec, "nodeSelector");
  for (const auto& member : wanted) {
    const std::string_view key = member.key();
    const auto value = json::as_string(&member.value()).value_or("");
    const json::Value* own = json::find(selector, key);
    if (own && json::as_string(own) != value)
      return fmt::format("conflict: runtimeClass.scheduling.nodeSelector[{}] = {}; pod.spec.nodeSelector[{}] = {:.253}",
                         key, value, key, json::as_string(own).value_or(""));
    selector[key] = member.value();
  }
  return std::nullopt;
}

void add_tolerations(json::Object& spec, const json::Array& added) {
  json::Array& all = json::ensure_array(spec, "tolerations");
  const std::size_t own = all.size();
  for (const json::Value& toleration : added) {
    const auto covered = [&](const json::Value& other) { return covers(other, toleration); };
    if (!std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own), covered)) all.push_back(toleration);
  }
}

}  // namespace

std::string_view runtime_class_of(const json::Object& pod) {
  const json::Object* spec = json::get_object(pod, "spec");
  return spec ? json::get_string_or(*spec, "runtimeClassName") : std::string_view();
}

std::optional<std::string> apply_runtime_class(json::Object& pod, const json::Object* runtime_class) {
  if (const std::string_view name = runtime_class_of(pod); !name.empty() && !runtime_class)
    return fmt::format("pod rejected: RuntimeClass \"{:.253}\" not found", name);
  json::Object* spec = json::get_object(pod, "spec");
  if (!spec) return std::nullopt;
  const json::Object* stated = json::get_object(*spec, "overhead");
  const bool states = stated && !stated->empty();
  const json::Object* overhead = runtime_class ? json::get_object(*runtime_class, "overhead") : nullptr;
  const json::Object* fixed = overhead ? json::get_object(*overhead, "podFixed") : nullptr;
  if (!fixed && states) return "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
  if (fixed && states && *stated != *fixed)
    return "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
  if (fixed) (*spec)["overhead"] = *fixed;
  const json::Object* scheduling = runtime_class ? json::get_object(*runtime_class, "scheduling") : nullptr;
  if (!scheduling) return std::nullopt;
  if (const json::Object* selector = json::get_object(*scheduling, "nodeSelector"); selector && !selector->empty())
    if (auto conflict = add_node_selector(*spec, *selector)) return conflict;
  if (const json::Array* tolerations = json::get_array(*scheduling, "tolerations");
      tolerations && !tolerations->empty())
    add_tolerations(*spec, *tolerations);
  return std::nullopt;
}

}  // namespace vg::resources

#include "objects/merge_rules.h"

#include <vector>

namespace vg::resources {
namespace {

class TypeRules final : public json::MergeRules {
 public:
  explicit TypeRules(const api::Type& type) : type_(&type) {}

  json::MergeRule field(std::string_view name) const override {
    const api::Field* field = type_->find(name);
    if (!field) return {};
    json::MergeRule rule;
    if (field->merge_patch) rule.strategy = json::MergeRule::Strategy::merge;
    if (field->merge_replace) rule.strategy = json::MergeRule::Strategy::replace;
    rule.merge_key = field->merge_key;
    const api::Type* inside = field->type;
    if (!inside && field->element) inside = field->element->type;
    if (inside) rule.inside = &merge_rules(*inside);
    return rule;
  }

 private:
  const api::Type* type_;
};

}  // namespace

const json::MergeRules& merge_rules(const api::Type& type) {
  // One object a type, in the order of the tables, so that nobody has to look anything up.
  static const std::vector<TypeRules> all = [] {
    std::vector<TypeRules> rules;
    for (const api::Type& each : api::types()) rules.emplace_back(each);
    return rules;
  }();
  return all[static_cast<std::size_t>(&type - api::types().data())];
}

}  // namespace vg::resources

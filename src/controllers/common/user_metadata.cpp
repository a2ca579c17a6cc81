#include "controllers/common/user_metadata.h"

#include <string>
#include <string_view>
#include <vector>

#include "admission/asker.h"
#include "admission/rules/restricted_labels.h"
#include "base/request_marks.h"
#include "json/access.h"

namespace vg::controllers {
namespace {

constexpr std::string_view servers_members[] = {"uid",
                                                "resourceVersion",
                                                "generation",
                                                "selfLink",
                                                "managedFields",
                                                "ownerReferences",
                                                "deletionTimestamp",
                                                "deletionGracePeriodSeconds",
                                                "creationTimestamp"};

bool is_servers(std::string_view annotation) {
  return annotation.starts_with(marks::prefix) || annotation == admission::asker_annotation;
}

}  // namespace

void drop_reserved(json::Object& metadata) {
  for (const std::string_view member : servers_members) json::erase(metadata, member);
  if (json::Object* labels = json::get_object(metadata, "labels"))
    for (const std::string_view label : admission::restricted_labels) json::erase(*labels, label);
  json::Object* annotations = json::get_object(metadata, "annotations");
  std::vector<std::string> dropped;
  if (annotations)
    for (const auto& one : *annotations)
      if (is_servers(one.key())) dropped.emplace_back(one.key());
  for (const std::string& one : dropped) json::erase(*annotations, one);
}

json::Object user_metadata(const json::Object* given, const json::StoragePtr& storage) {
  json::Object metadata = given ? json::Object(*given, storage) : json::Object(storage);
  drop_reserved(metadata);
  return metadata;
}

}  // namespace vg::controllers

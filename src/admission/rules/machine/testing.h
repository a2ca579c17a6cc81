// For tests of rules about machines: one family, asked about one spec.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "admission/defaults/testing.h"
#include "admission/rules/machine/families.h"

namespace vg::admission::testing {

// The causes in order, as "Invalid spec.domain.memory.guest"; only the first ten, as everywhere.
inline std::vector<std::string> told(Causes& causes) {
  std::vector<std::string> all;
  const Verdict verdict = causes.verdict();
  for (const StatusCause& cause : verdict.refusal().details.causes) {
    EXPECT_FALSE(cause.message.empty()) << cause.field;
    all.push_back(cause.reason.substr(std::string_view("FieldValue").size()) + " " + cause.field);
  }
  return all;
}

// `spec` of a VMI that is created; `configured`: spec.configuration of the KubeVirt object.
inline std::vector<std::string> told_by(const MachineFamily& family, std::string_view spec,
                                        std::string_view configured = "{}", std::string_view architecture = "amd64") {
  json::Document document = parsed(R"({"metadata":{"name":"m"},"spec":)" + std::string(spec) + "}");
  EXPECT_TRUE(api::canonicalize(document.root(), *api::find_kind("kubevirt.io", "", "VirtualMachineInstance")->type))
      << spec;
  const config::ConfigPtr config = configuration(configured, architecture);
  const KnownObjects known;
  const Context context{.config = *config,
                        .lookups = known,
                        .randomness = system_randomness(),
                        .own_namespace = "kubevirt",
                        .now = {},
                        .storage = document.storage()};
  Review review;
  review.operation_name = "CREATE";
  review.object = &document.root();
  const Case judged{.context = context,
                    .review = review,
                    .webhook = *find_webhook("/virtualmachineinstances-validate-create"),
                    .object = review.object,
                    .old_object = nullptr};
  const Place root, place = root.field("spec"), metadata_place = root.field("metadata");
  Causes causes;
  family.check({.judged = judged,
                .spec = api::kubevirt::VirtualMachineInstanceSpec(json::find(document.root(), "spec")),
                .metadata = json::find(document.root(), "metadata"),
                .place = place,
                .metadata_place = metadata_place},
               causes);
  return told(causes);
}

}  // namespace vg::admission::testing

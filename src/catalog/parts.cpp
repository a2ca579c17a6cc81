#include "catalog/parts.h"

#include <algorithm>
#include <array>

namespace vg::resources {
namespace {

constexpr std::array<std::string_view, 1> create_verbs{"create"};
constexpr std::array<std::string_view, 1> update_verbs{"update"};
constexpr std::array<std::string_view, 3> object_verbs{"get", "patch", "update"};

constexpr std::array part_table{
    Part{"namespaces", "finalize", "", "", "Namespace", update_verbs},
    Part{"pods", "binding", "", "", "Binding", create_verbs},
    Part{"pods", "eviction", "policy", "v1", "Eviction", create_verbs},
    Part{"serviceaccounts", "token", "authentication.k8s.io", "v1", "TokenRequest", create_verbs},
    Part{"certificates.k8s.io/certificatesigningrequests", "approval", "", "", "CertificateSigningRequest",
         object_verbs},
};

struct ReadOnly {
  std::string_view key, why;
};

// A webhook that is registered and never called would let through what its owner believes to be refused.
constexpr std::string_view no_webhooks = "this server calls no webhooks, so none can be registered";
constexpr std::array read_only{
    ReadOnly{"admissionregistration.k8s.io/mutatingwebhookconfigurations", no_webhooks},
    ReadOnly{"admissionregistration.k8s.io/validatingwebhookconfigurations", no_webhooks},
    ReadOnly{"apiregistration.k8s.io/apiservices",
             "this server aggregates no others; the list is what it serves itself"},
};

}  // namespace

std::span<const Part> parts() { return part_table; }

const Part* find_part(std::string_view key, std::string_view name) {
  const auto* const found =
      std::ranges::find_if(part_table, [&](const Part& part) { return part.name == name && part.key == key; });
  return found == part_table.end() ? nullptr : found;
}

std::string_view read_only_reason(std::string_view key) {
  const auto* const found = std::ranges::find(read_only, key, &ReadOnly::key);
  return found == read_only.end() ? std::string_view() : found->why;
}

}  // namespace vg::resources

// Which requests the audit log records, and how much of each: a Policy of audit.k8s.io/v1, as kube-apiserver reads one
// from --audit-policy-file. The first rule that fits decides; a request that no rule fits is not recorded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/request_info.h"

namespace vg::resources {

enum class AuditLevel : std::uint8_t { none, metadata, request, request_response };
std::string_view text_of(AuditLevel level);

enum class AuditStage : std::uint8_t { request_received, response_started, response_complete, panic };

// What is done about one request.
struct AuditDecision {
  AuditLevel level = AuditLevel::metadata;
  std::uint8_t omitted_stages = 0;  // a bit for each AuditStage
  bool omit_managed_fields = false;

  bool omits(AuditStage stage) const { return (omitted_stages >> static_cast<unsigned>(stage) & 1U) != 0; }
};

class AuditPolicy {
 public:
  // YAML or JSON. Refuses fields, levels and stages that do not exist, and rules that could never fit: a policy that
  // does not say what its author meant records too little, and nobody notices.
  static Result<AuditPolicy> parse(std::string_view text);

  AuditDecision decide(const RequestInfo& info, std::string_view user, std::span<const std::string> groups) const;

 private:
  struct Resources {
    std::string group;
    std::vector<std::string> resources, names;  // empty: all
  };
  struct Rule {
    AuditDecision decision;
    std::vector<std::string> users, groups, verbs, namespaces, urls;
    std::vector<Resources> resources;
  };
  class Parser;
  static bool fits(const Rule& rule, const RequestInfo& info, std::string_view user,
                   std::span<const std::string> groups);
  static bool fits(const Resources& resources, const RequestInfo& info);

  std::vector<Rule> rules_;
};

// The level at which a request may be recorded, whatever a policy says: what is a credential from beginning to end, or
// an answer that is one, is never recorded with its body.
AuditLevel level_allowed(const RequestInfo& info);

// The text of a body as it may be recorded: values that are credentials or user data of guests are replaced, wherever
// they stand. Empty for one that is no JSON or YAML, or that is too long.
std::string recorded_body(std::string_view body, bool omit_managed_fields);

}  // namespace vg::resources

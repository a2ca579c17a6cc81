// Which VMIs use which claims, and which VMs have them in their templates, kept while changes come in, so that a change
// of a claim opens no VMI but those that it concerns.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace vg::controllers {

// The claim of one of spec.volumes; empty when the volume is no claim. A DataVolume's claim has its name.
std::string_view claim_of_volume(const json::Object& volume);
// Of a VMI, utility volumes included.
std::vector<std::string_view> claims_of(const json::Object& vmi);
// Of the template of a VM.
std::vector<std::string_view> template_claims_of(const json::Object& vm);

class ClaimUsers {
 public:
  void put(std::string_view ns, std::string_view vmi, const std::vector<std::string_view>& claims);
  void forget(std::string_view ns, std::string_view vmi) { put(ns, vmi, {}); }
  // Names of VMIs, in order.
  std::vector<std::string> of(std::string_view ns, std::string_view claim) const;

 private:
  std::map<std::string, std::set<std::string>, std::less<>> users_;      // "ns/claim" to VMIs
  std::map<std::string, std::vector<std::string>, std::less<>> claims_;  // "ns/vmi" to "ns/claim"
};

}  // namespace vg::controllers

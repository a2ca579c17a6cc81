// What a verdict is made of: the object that is asked about and those around it, as the API has them. Whatever is not
// there, or may not be read, is left out; nothing here asks anybody.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/time_rfc3339.h"
#include "json/value.h"

namespace vg::story {

// Reads an object without surprises: what is absent reads as empty.
class Object {
 public:
  Object() = default;
  explicit Object(const json::Value* value) : value_(value) {}

  explicit operator bool() const { return value_ && value_->is_object(); }
  const json::Value* value() const { return value_; }
  Object at(std::initializer_list<std::string_view> path) const;
  std::string_view text(std::initializer_list<std::string_view> path) const;
  std::int64_t number(std::initializer_list<std::string_view> path, std::int64_t otherwise = 0) const;
  bool flag(std::initializer_list<std::string_view> path) const;
  const json::Array& list(std::initializer_list<std::string_view> path) const;  // of nothing: empty

  std::string_view name() const { return text({"metadata", "name"}); }
  std::string_view uid() const { return text({"metadata", "uid"}); }
  std::string_view annotation(std::string_view key) const { return text({"metadata", "annotations", key}); }
  bool is_deleted() const { return !text({"metadata", "deletionTimestamp"}).empty(); }
  // The condition of that type; empty when there is none.
  Object condition(std::string_view type) const;
  bool condition_is(std::string_view type, std::string_view status) const;

 private:
  const json::Value* value_ = nullptr;
};

// The document that facts are read from has an object each under "vm", "vmi", "migration", "kubevirt" and lists under
// "migrations" (of the cluster), "claims", "dataVolumes", "nodes" and "events".
class Facts {
 public:
  Facts(const json::Value& document, Timestamp now) : document_(document), now_(now) {}

  Object vm() const { return Object(&document_).at({"vm"}); }
  Object vmi() const { return Object(&document_).at({"vmi"}); }
  Object migration() const { return Object(&document_).at({"migration"}); }
  Object kubevirt() const { return Object(&document_).at({"kubevirt"}); }
  const json::Array& all(std::string_view kind) const { return Object(&document_).list({kind}); }
  Object find(std::string_view kind, std::string_view name) const;
  Object node() const { return find("nodes", vmi().text({"status", "nodeName"})); }
  // Whether the list was read at all: without it nothing can be concluded from what is not in it.
  bool knows(std::string_view kind) const;
  Timestamp now() const { return now_; }

  // "43 s", "5 min", "3 h", "2 d"; empty when the text is no time or lies ahead.
  std::string since(std::string_view time) const;
  // Seconds until then; negative when it is over.
  std::optional<std::int64_t> seconds_until(std::string_view time) const;

 private:
  const json::Value& document_;
  Timestamp now_;
};

std::string span_text(std::int64_t seconds);

// Always, Halted, Manual, RerunOnFailure, Once, WaitAsReceiver (VMC-30).
std::string_view run_strategy(Object vm);
// A configuration value of KubeVirt's migrations.
std::int64_t migration_setting(const Facts& facts, std::string_view name, std::int64_t otherwise);
bool is_over(Object migration);
// The name of the migration in "kubevirt.io/v1/namespaces/NS/virtualmachineinstancemigrations/NAME", which is how
// actions name what they made; empty for another object.
std::string_view migration_in(std::string_view object);

}  // namespace vg::story

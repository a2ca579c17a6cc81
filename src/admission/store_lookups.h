// Look-ups in an object store.
#pragma once

#include "admission/context.h"
#include "ports/object_store.h"

namespace vg::admission {

class StoreLookups final : public Lookups {
 public:
  explicit StoreLookups(const ObjectStore& store) : store_(store) {}

  Result<json::Value*> get(std::string_view resource, std::string_view ns, std::string_view name,
                           const json::StoragePtr& storage) const override;
  Result<std::vector<json::Value*>> list(std::string_view resource, std::string_view ns,
                                         const json::StoragePtr& storage) const override;
  Result<std::vector<json::Value*>> list_labelled(std::string_view resource, std::string_view ns,
                                                  std::string_view label, std::string_view value,
                                                  const json::StoragePtr& storage) const override;
  bool missed() const override { return false; }

 private:
  Result<std::vector<json::Value*>> read(const ListQuery& query, const json::StoragePtr& storage) const;
  const ObjectStore& store_;
};

// There are no other objects: commands that work on files, tests.
class NoLookups final : public Lookups {
 public:
  Result<json::Value*> get(std::string_view, std::string_view, std::string_view,
                           const json::StoragePtr&) const override {
    return nullptr;
  }
  Result<std::vector<json::Value*>> list(std::string_view, std::string_view, const json::StoragePtr&) const override {
    return std::vector<json::Value*>();
  }
  Result<std::vector<json::Value*>> list_labelled(std::string_view, std::string_view, std::string_view,
                                                  std::string_view, const json::StoragePtr&) const override {
    return std::vector<json::Value*>();
  }
  bool missed() const override { return false; }
};

}  // namespace vg::admission

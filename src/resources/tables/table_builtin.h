// What kubectl get shows of Kubernetes' own kinds. Custom kinds say it themselves, in their columns.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "json/value.h"
#include "resources/tables/table_cells.h"

namespace vg::resources {

struct TableColumn {
  std::string_view name;
  std::string_view type = "string";
  int priority = 0;              // 1: only in wide output
  std::string_view format = "";  // never a null view: fmt hands it to memcpy
};

struct BuiltinTable {
  std::string_view key;  // of the resource in the store
  std::span<const TableColumn> columns;
  void (*cells)(Cells& row, const json::Object& object) = nullptr;
};

// Null for a kind of which only name and creation are shown.
const BuiltinTable* find_builtin_table(std::string_view key);

// The name and the moment of creation: roles, CRDs and whatever has no row of its own.
extern const BuiltinTable default_table;

}  // namespace vg::resources

// What kubectl get shows of a pod: the one row that has to be worked out.
#pragma once

#include <array>

#include "json/value.h"
#include "resources/tables/table_builtin.h"

namespace vg::resources {

inline constexpr std::array pod_columns{TableColumn{.name = "Name", .format = "name"},
                                        TableColumn{.name = "Ready"},
                                        TableColumn{.name = "Status"},
                                        TableColumn{.name = "Restarts"},
                                        TableColumn{.name = "Age"},
                                        TableColumn{.name = "IP", .priority = 1},
                                        TableColumn{.name = "Node", .priority = 1},
                                        TableColumn{.name = "Nominated Node", .priority = 1},
                                        TableColumn{.name = "Readiness Gates", .priority = 1}};

void pod_cells(Cells& row, const json::Object& object);

}  // namespace vg::resources

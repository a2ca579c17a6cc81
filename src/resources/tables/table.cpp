#include "resources/tables/table.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "json/access.h"
#include "json/arena.h"
#include "json/parse.h"
#include "json/write.h"
#include "objects/draft.h"
#include "objects/json_path.h"
#include "resources/tables/table_builtin.h"
#include "resources/tables/table_cells.h"

namespace vg::resources {
namespace {

// A custom kind without columns shows its age; one with columns shows exactly these.
constexpr api::Column custom_age_column{.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"};

std::span<const api::Column> custom_columns(const api::Kind& kind) {
  return kind.columns.empty() ? std::span(&custom_age_column, 1) : kind.columns;
}

// The paths of a kind's columns, read once a table. A path that cannot be read gives empty cells, as in Kubernetes.
using Paths = std::vector<std::optional<JsonPath>>;

Paths read_paths(std::span<const api::Column> columns) {
  Paths paths;
  paths.reserve(columns.size());
  for (const api::Column& column : columns) paths.push_back(JsonPath::parse(column.json_path));
  return paths;
}

void append_column(std::string& out, const TableColumn& column, std::string_view description) {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"({{"name":"{}","type":"{}","format":"{}","description":)"),
                 column.name, column.type, column.format);
  json::write_string(description, out);
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"(,"priority":{}}})"), column.priority);
}

void append_columns(std::string& out, const Resource& resource) {
  out.append(R"("columnDefinitions":[)");
  if (resource.kind->custom) {
    append_column(out, {.name = "Name", .format = "name"}, "The name, which is unique among the objects of its kind");
    for (const api::Column& column : custom_columns(*resource.kind)) {
      out.push_back(',');
      append_column(out, {.name = column.name, .type = column.type, .priority = column.priority},
                    fmt::format("The value at {}", column.json_path));
    }
  } else {
    const BuiltinTable* found = find_builtin_table(resource.key);
    bool first = true;
    for (const TableColumn& column : (found ? *found : default_table).columns) {
      if (!first) out.push_back(',');
      first = false;
      append_column(out, column, {});
    }
  }
  out.append("],");
}

void number_cell(Cells& row, const json::Value& value) {
  if (const auto whole = json::as_int(&value)) return row.number(*whole);
  // As in Kubernetes, what is no integer is cut, and what is no number is not shown.
  constexpr double limit = 9.2e18;
  if (const double* number = value.if_double(); number && std::abs(*number) < limit)
    return row.number(static_cast<std::int64_t>(*number));
  row.none();
}

void date_cell(Cells& row, const json::Value& value) {
  const auto text = json::as_string(&value);
  if (!text) return row.none();
  if (text->empty()) return row.text("<unknown>");
  const auto time = parse_rfc3339(*text);
  row.text(time ? human_age(*time, row.now()) : "<invalid>");
}

void custom_cell(Cells& row, std::string_view type, const json::Value* value) {
  if (!value || value->is_null()) return row.none();
  if (type == "string") {
    if (const auto text = json::as_string(value)) return row.text(*text);
    return row.text(json::to_text(*value));
  }
  if (type == "date") return date_cell(row, *value);
  if (type == "integer") return number_cell(row, *value);
  if (const auto flag = json::as_bool(value); flag && type == "boolean") return row.boolean(*flag);
  row.none();
}

void append_metadata(std::string& out, const TableRequest& request) {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"("metadata":{{"resourceVersion":"{}")"), request.revision);
  if (!request.continue_token.empty()) {
    out.append(R"(,"continue":)");
    json::write_string(request.continue_token, out);
  }
  if (request.remaining)
    fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"(,"remainingItemCount":{})"), *request.remaining);
  out.append("},");
}

}  // namespace

class Table::Rows {
 public:
  explicit Rows(const TableRequest& request) : request_(request) {
    if (request.resource.kind->custom) {
      paths_ = read_paths(custom_columns(*request.resource.kind));
    } else if (const BuiltinTable* found = find_builtin_table(request.resource.key)) {
      builtin_ = found;
    }
  }

  void write(std::string& out, const StoredObject& object) {
    if (!std::exchange(first_, false)) out.push_back(',');
    write_row(out, object);
    arena_.reset();  // a slow client keeps the table for long, and a large object takes much
  }

 private:
  void write_row(std::string& out, const StoredObject& object) {
    const auto parsed = json::parse(object.json(), arena_.storage(), own_text);
    static const json::Value unreadable{json::Object{}};  // only a damaged store has such a text; its name is known
    const json::Value& root = parsed && parsed->is_object() ? *parsed : unreadable;
    out.append(R"({"cells":[)");
    Cells row(out, request_.now);
    if (request_.resource.kind->custom)
      custom_row(row, object, root);
    else
      builtin_->cells(row, root.get_object());
    out.push_back(']');
    append_conditions(out, root);
    append_row_object(out, object);
    out.push_back('}');
  }

  void custom_row(Cells& row, const StoredObject& object, const json::Value& root) {
    row.text(object.name());
    const auto columns = custom_columns(*request_.resource.kind);
    for (std::size_t i = 0; i < columns.size(); ++i)
      custom_cell(row, columns[i].type, paths_[i] ? paths_[i]->find_first(root) : nullptr);
  }

  // kubectl get --watch and dashboards tell by it that a pod is over.
  void append_conditions(std::string& out, const json::Value& root) {
    if (request_.resource.key != "pods") return;
    const auto phase = json::as_string(json::find_path(root, {"status", "phase"})).value_or("");
    if (phase != "Succeeded" && phase != "Failed") return;
    fmt::format_to(std::back_inserter(out),
                   FMT_COMPILE(R"(,"conditions":[{{"type":"Completed","status":"True","reason":"{}"}}])"), phase);
  }

  void append_row_object(std::string& out, const StoredObject& object) {
    if (request_.include_object == "None") return;
    const Revision revision = request_.row_revision.value_or(object.revision());
    out.append(R"(,"object":)");
    if (request_.include_object == "Object")
      append_shown(out, object, request_.shown ? *request_.shown : request_.resource, request_.api_version, revision);
    else
      append_partial_metadata(out, object, revision, request_.table_version);
  }

  const TableRequest& request_;
  bool first_ = true;
  Paths paths_;
  const BuiltinTable* builtin_ = &default_table;
  json::Arena arena_;
};

Table::Table(const TableRequest& request) : request_(request), rows_(std::make_unique<Rows>(request_)) {}

Table::~Table() = default;

void Table::open(std::string& out) {
  fmt::format_to(std::back_inserter(out), FMT_COMPILE(R"({{"kind":"Table","apiVersion":"meta.k8s.io/{}",)"),
                 request_.table_version);
  append_metadata(out, request_);
  if (request_.with_columns)
    append_columns(out, request_.resource);
  else
    out.append(R"("columnDefinitions":null,)");
  out.append(R"("rows":[)");
}

void Table::add(std::string& out, const StoredObject& object) { rows_->write(out, object); }

void Table::close(std::string& out) { out.append("]}"); }

}  // namespace vg::resources

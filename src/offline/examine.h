// From the text of a document to findings: read it, judge each object in it, and say where in the text they are.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "objects/write_options.h"
#include "offline/finding.h"
#include "offline/judge.h"
#include "offline/source.h"

namespace vg::offline {

struct CheckOptions {
  std::string ns = "default";  // of objects that name none
  resources::FieldValidation validation = resources::FieldValidation::strict;
  bool complete = false;            // nothing exists but what is at hand
  bool strict = false;              // warnings are refusals
  std::set<std::string> skip = {};  // ids of warnings that are not told
  std::size_t threads = 0;          // 0: as many as there are processors
};

// What is found about one object, or about the document itself.
struct ObjectReport {
  std::vector<Finding> findings;
  ObjectVerdict verdict;
  std::size_t silenced = 0;
  std::size_t left_out = 0;                  // warnings beyond warnings_of_object_max
  std::string failure;                       // why it could not be judged; empty otherwise
  std::string unknown_kind;                  // "apps/v1 Deployment"; empty for one that is known
  std::map<std::string, std::size_t> asked;  // resources about which its rules asked; see ObjectsBeside
};

// The order of an object among all: of its document, and its place in there.
struct Order {
  std::size_t document = 0;
  std::size_t item = 0;
  bool object = true;  // false: it is about the text, which comes before what is in it
  auto operator<=>(const Order&) const = default;
  std::size_t number() const { return document * 1'000'000 + item; }
};

struct PieceOfFile {
  std::string_view file;
  const Piece& piece;
  std::size_t document;  // its number among all
};

using Report = std::function<void(Order, ObjectReport)>;

// Adds the objects of a document to those that are known. What cannot be read is for examine() to say. False for an
// item of a list that cannot be read by itself.
bool learn(const PieceOfFile& text, const CheckOptions& options, KnownObjects& known);

// Reports each object of a document for which `wanted` says so, and what is wrong with the document itself. With
// `learns` they are added to those that are known before they are judged. Returns how many there were;
// nothing for an item of a list that cannot be read by itself.
struct Examination {
  const World& world;
  const CheckOptions& options;
  KnownObjects* learns = nullptr;
  std::function<bool(Order)> wanted = {};  // empty: all
};
std::optional<std::size_t> examine(const PieceOfFile& text, const Examination& how, const Report& report);

}  // namespace vg::offline

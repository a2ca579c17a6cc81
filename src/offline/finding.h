// What is told about files: one finding a thing that is wrong, wherever it comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "offline/identity.h"

namespace vg::offline {

// A refusal cannot be silenced: the server would not take the object. A note is only counted.
enum class Severity : std::uint8_t { refusal, warning, note };
std::string_view severity_name(Severity severity);

struct Finding {
  Severity severity = Severity::refusal;
  std::string id = {};    // of the rule (catalogue.h)
  std::string type = {};  // of a cause, as the server calls it: FieldValueInvalid
  std::string file = {};
  std::size_t line = 0, column = 0;  // from 1, columns in characters; 0: of the file as a whole
  std::string object = {};           // "VirtualMachine default/demo"; empty where there is none
  std::string field = {};            // its path
  std::string message = {};          // what is wrong
  std::string advice = {};           // what to do; may be empty
  std::string source = {};           // the line, clipped
  std::size_t caret = 0;             // where in it, in characters from 1
};

// What the server would answer, for objects that have findings.
struct ObjectVerdict {
  Identity identity = {};
  std::string file = {};
  std::size_t line = 0;
  bool refused = false;
  int code = 0;             // of a refusal
  std::string reason = {};  // of a refusal
};

struct Outcome {
  std::size_t files = 0, documents = 0, objects = 0;
  std::vector<Finding> findings;                     // in the order of files and lines
  std::vector<ObjectVerdict> verdicts;               // of objects with findings, in the same order
  std::map<std::string, std::size_t> unknown_kinds;  // "apps/v1 Deployment": how many were not checked
  std::size_t silenced = 0;                          // warnings that somebody silenced
  std::size_t left_out = 0;                          // findings beyond what is kept
  bool refused_left_out = false;                     // a refusal is among them
  std::vector<std::string> unreadable;               // files that could not be read, each with why

  std::size_t count(Severity severity) const;
  bool refused() const { return refused_left_out || count(Severity::refusal) > 0; }
};

}  // namespace vg::offline

#include "cel/functions.h"

namespace vg::cel {
namespace {

// clang-format off
#define VG_ORDERED \
  "bool bool = bool; int int = bool; uint uint = bool; double double = bool; string string = bool; " \
  "bytes bytes = bool; timestamp timestamp = bool; duration duration = bool"
#define VG_MIXED_NUMBERS \
  "int double = bool; int uint = bool; uint double = bool; uint int = bool; double int = bool; double uint = bool"
#define VG_EXTREME \
  "double = double; int = int; uint = uint; double double = double; int int = int; uint uint = uint; " \
  "int uint = dyn; int double = dyn; double int = dyn; double uint = dyn; uint int = dyn; uint double = dyn; " \
  "[]double = double; []int = int; []uint = uint"
#define VG_OF_TIME ".timestamp = int; .timestamp string = int"

constexpr Function standard[] = {
    {"_?_:_", "bool T T = T"},
    {"!_", "bool = bool"},
    {"-_", "double = double; int = int"},
    {"_==_", "T T = bool"},
    {"_!=_", "T T = bool"},
    {"_<_", VG_ORDERED},
    {"_<=_", VG_ORDERED},
    {"_>_", VG_ORDERED},
    {"_>=_", VG_ORDERED},
    {"_+_", "bytes bytes = bytes; double double = double; duration duration = duration; "
            "duration timestamp = timestamp; timestamp duration = timestamp; int int = int; []T []T = []T; "
            "string string = string; uint uint = uint"},
    {"_-_", "double double = double; duration duration = duration; int int = int; timestamp duration = timestamp; "
            "timestamp timestamp = duration; uint uint = uint"},
    {"_*_", "double double = double; int int = int; uint uint = uint"},
    {"_/_", "double double = double; int int = int; uint uint = uint"},
    {"_%_", "int int = int; uint uint = uint"},
    {"_[_]", "[]T int = T; map[K]V K = V"},
    {"@in", "T []T = bool; K map[K]V = bool"},
    {"in", "T []T = bool; K map[K]V = bool"},
    {"size", "bytes = int; .bytes = int; []T = int; .[]T = int; map[K]V = int; .map[K]V = int; "
             "string = int; .string = int"},
    {"type", "T = type"},
    {"dyn", "T = dyn"},
    {"bool", "bool = bool; string = bool"},
    {"bytes", "bytes = bytes; string = bytes"},
    {"double", "double = double; int = double; string = double; uint = double"},
    {"duration", "duration = duration; int = duration; string = duration"},
    {"int", "int = int; double = int; duration = int; string = int; timestamp = int; uint = int"},
    {"string", "string = string; bool = string; bytes = string; double = string; duration = string; int = string; "
               "timestamp = string; uint = string"},
    {"timestamp", "timestamp = timestamp; int = timestamp; string = timestamp"},
    {"uint", "uint = uint; double = uint; int = uint; string = uint"},
    {"contains", ".string string = bool"},
    {"endsWith", ".string string = bool"},
    {"startsWith", ".string string = bool"},
    {"matches", "string string = bool; .string string = bool"},
    {"getFullYear", VG_OF_TIME},
    {"getMonth", VG_OF_TIME},
    {"getDayOfYear", VG_OF_TIME},
    {"getDayOfMonth", VG_OF_TIME},
    {"getDate", VG_OF_TIME},
    {"getDayOfWeek", VG_OF_TIME},
    {"getHours", VG_OF_TIME "; .duration = int"},
    {"getMinutes", VG_OF_TIME "; .duration = int"},
    {"getSeconds", VG_OF_TIME "; .duration = int"},
    {"getMilliseconds", VG_OF_TIME "; .duration = int"},
};

constexpr Function extensions[] = {
    {"_<_", VG_MIXED_NUMBERS},
    {"_<=_", VG_MIXED_NUMBERS},
    {"_>_", VG_MIXED_NUMBERS},
    {"_>=_", VG_MIXED_NUMBERS},
    // strings
    {"charAt", ".string int = string"},
    {"format", ".string []dyn = string"},
    {"indexOf", ".string string = int; .string string int = int"},
    {"join", ".[]string = string; .[]string string = string"},
    {"lastIndexOf", ".string string = int; .string string int = int"},
    {"lowerAscii", ".string = string"},
    {"replace", ".string string string = string; .string string string int = string"},
    {"reverse", ".string = string; .[]T = []T"},
    {"split", ".string string = []string; .string string int = []string"},
    {"strings.quote", "string = string"},
    {"substring", ".string int = string; .string int int = string"},
    {"trim", ".string = string"},
    {"upperAscii", ".string = string"},
    // math
    {"math.@max", VG_EXTREME},
    {"math.@min", VG_EXTREME},
    {"math.abs", "double = double; int = int; uint = uint"},
    {"math.bitAnd", "int int = int; uint uint = uint"},
    {"math.bitNot", "int = int; uint = uint"},
    {"math.bitOr", "int int = int; uint uint = uint"},
    {"math.bitShiftLeft", "int int = int; uint int = uint"},
    {"math.bitShiftRight", "int int = int; uint int = uint"},
    {"math.bitXor", "int int = int; uint uint = uint"},
    {"math.ceil", "double = double"},
    {"math.floor", "double = double"},
    {"math.isFinite", "double = bool"},
    {"math.isInf", "double = bool"},
    {"math.isNaN", "double = bool"},
    {"math.round", "double = double"},
    {"math.sign", "double = double; int = int; uint = uint"},
    {"math.sqrt", "double = double; int = double; uint = double"},
    {"math.trunc", "double = double"},
    // lists
    {"distinct", ".[]T = []T"},
    {"flatten", ".[][]T = []T; .[]dyn int = []dyn"},
    {"lists.range", "int = []int"},
    {"slice", ".[]T int int = []T"},
    {"sort", ".[]int = []int; .[]uint = []uint; .[]double = []double; .[]bool = []bool; .[]duration = []duration; "
             ".[]timestamp = []timestamp; .[]string = []string; .[]bytes = []bytes"},
    {"@sortByAssociatedKeys", ".[]T []int = []T; .[]T []uint = []T; .[]T []double = []T; .[]T []bool = []T; "
                              ".[]T []duration = []T; .[]T []timestamp = []T; .[]T []string = []T; "
                              ".[]T []bytes = []T"},
};
// clang-format on

#undef VG_ORDERED
#undef VG_MIXED_NUMBERS
#undef VG_EXTREME
#undef VG_OF_TIME

}  // namespace

std::span<const Function> standard_functions() { return standard; }
std::span<const Function> extension_functions() { return extensions; }

}  // namespace vg::cel

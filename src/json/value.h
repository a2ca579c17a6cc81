// The JSON value type of virtgate. Everything above src/json names it by these aliases.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace vg::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;
using String = boost::json::string;
using StoragePtr = boost::json::storage_ptr;

}  // namespace vg::json

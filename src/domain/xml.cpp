#include "domain/xml.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "domain/catalogue.h"

namespace vg::domain {
namespace {

// DOM-XML-05
std::string_view escaped(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&#34;";
    case '\'':
      return "&#39;";
    case '\t':
      return "&#x9;";
    case '\n':
      return "&#xA;";
    case '\r':
      return "&#xD;";
    default:
      return {};
  }
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    const std::string_view replaced = escaped(c);
    if (replaced.empty())
      out += c;
    else
      out += replaced;
  }
}

// Pointers to what a list holds, in the order that the catalogue gives; equal names keep theirs.
template <class List, class NameOf>
auto in_order(const List& list, std::string_view names, NameOf name_of) {
  struct Place {
    std::size_t rank, position;
    const typename List::value_type* what;
  };
  std::vector<Place> order;
  order.reserve(list.size());
  for (const auto& one : list) order.push_back({rank_in(names, name_of(one)), order.size(), &one});
  std::ranges::sort(order, {}, [](const Place& place) { return std::pair(place.rank, place.position); });
  return order;
}

void append(std::string& out, const Element& element, std::string_view parent, std::size_t depth) {
  const Shape* shape = shape_of(parent, element.name());
  out.append(2 * depth, ' ');
  out += '<';
  out += element.name();
  for (const auto& [rank, position, attribute] :
       in_order(element.attributes(), shape ? shape->attributes : "", [](const auto& one) { return one.first; })) {
    out += ' ';
    out += attribute->first;
    out += "=\"";
    append_escaped(out, attribute->second);
    out += '"';
  }
  out += '>';
  append_escaped(out, element.text());
  if (!element.children().empty()) {
    out += '\n';
    for (const auto& [rank, position, child] :
         in_order(element.children(), shape ? shape->children : "", [](const Element& one) { return one.name(); }))
      append(out, *child, element.name(), depth + 1);
    out.append(2 * depth, ' ');
  }
  out += "</";
  out += element.name();
  out += ">\n";
}

// What XML 1.0 takes. Strings come from parsers that let no other wrong UTF-8 through.
bool is_writable(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') return false;
    if (byte == 0xef && (text.substr(at, 3) == "\xef\xbf\xbe" || text.substr(at, 3) == "\xef\xbf\xbf")) return false;
  }
  return true;
}

std::string below(std::string_view name, const std::string& rest) { return std::string(name) + "/" + rest; }

}  // namespace

std::string to_xml(const Element& root) {
  std::string out;
  append(out, root, {}, 0);
  return out;
}

std::optional<std::string> unwritable(const Element& root) {
  if (!is_writable(root.text())) return std::string(root.name());
  for (const auto& [name, value] : root.attributes())
    if (!is_writable(value)) return below(root.name(), std::string(name));
  for (const Element& child : root.children())
    if (auto found = unwritable(child)) return below(root.name(), *found);
  return std::nullopt;
}

namespace {

std::optional<std::string> undeclared_in(const Element& element, std::string_view parent) {
  const Shape* shape = shape_of(parent, element.name());
  if (!shape) return std::string(element.name());
  for (const auto& [name, value] : element.attributes())
    if (rank_in(shape->attributes, name) == shape->attributes.size()) return below(element.name(), std::string(name));
  for (const Element& child : element.children()) {
    if (rank_in(shape->children, child.name()) == shape->children.size())
      return below(element.name(), std::string(child.name()));
    if (auto found = undeclared_in(child, element.name())) return below(element.name(), *found);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> undeclared(const Element& root) { return undeclared_in(root, {}); }

}  // namespace vg::domain

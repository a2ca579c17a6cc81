// The document that a conversion makes: elements with attributes, children and text. Builders say what there is, in
// whatever order suits them; the order in which it is written is the catalogue's business (catalogue.h).
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vg::domain {

// The name of an element or attribute. Only literals make one: what users write is never a name.
struct Name {
  consteval Name(const char* literal) : text(literal) {}  // NOLINT: a literal is a name
  std::string_view text;
};

class Element {
 public:
  using Attribute = std::pair<std::string_view, std::string>;

  explicit Element(Name name) : name_(name.text) {}

  std::string_view name() const { return name_; }
  const std::vector<Attribute>& attributes() const { return attributes_; }
  // Children stay where they are when others are added.
  const std::list<Element>& children() const { return children_; }
  std::list<Element>& children() { return children_; }
  const std::string& text() const { return text_; }

  // Written even when empty. A second value replaces the first.
  Element& set(Name attribute, std::string_view value);
  Element& set(Name attribute, std::integral auto value) {
    return set(attribute, std::string_view(fmt::format_int(value).str()));
  }
  // Left out when empty: the "?" of the catalogue (DOM-XML-03).
  Element& set_if(Name attribute, std::string_view value) { return value.empty() ? *this : set(attribute, value); }
  // Plain numbers with a "?" are left out when 0 (DOM-XML-04).
  Element& set_if(Name attribute, std::integral auto value) { return value == 0 ? *this : set(attribute, value); }
  void unset(Name attribute);
  bool has(Name attribute) const { return find_attribute(attribute.text) != nullptr; }
  // Empty when it is not set.
  std::string_view get(Name attribute) const;

  Element& set_text(std::string_view text) {
    text_ = text;
    return *this;
  }
  Element& set_text(std::integral auto number) { return set_text(std::string_view(fmt::format_int(number).str())); }

  // One more child of this name.
  Element& add(Name name) { return children_.emplace_back(name); }
  Element& add(Element child) { return children_.emplace_back(std::move(child)); }
  // The one child of this name; made when there is none.
  Element& child(Name name);
  const Element* find(Name name) const;
  Element* find(Name name) { return const_cast<Element*>(std::as_const(*this).find(name)); }
  void remove(Name name);

 private:
  const Attribute* find_attribute(std::string_view name) const;

  std::string_view name_;
  std::vector<Attribute> attributes_;
  std::list<Element> children_;
  std::string text_;
};

}  // namespace vg::domain

#include "domain/element.h"

#include <algorithm>

namespace vg::domain {

const Element::Attribute* Element::find_attribute(std::string_view name) const {
  const auto found = std::ranges::find(attributes_, name, &Attribute::first);
  return found == attributes_.end() ? nullptr : &*found;
}

Element& Element::set(Name attribute, std::string_view value) {
  if (const Attribute* there = find_attribute(attribute.text))
    const_cast<Attribute*>(there)->second = value;  // NOLINT: the list is ours
  else
    attributes_.emplace_back(attribute.text, value);
  return *this;
}

void Element::unset(Name attribute) {
  std::erase_if(attributes_, [&](const Attribute& one) { return one.first == attribute.text; });
}

std::string_view Element::get(Name attribute) const {
  const Attribute* found = find_attribute(attribute.text);
  return found ? std::string_view(found->second) : std::string_view();
}

const Element* Element::find(Name name) const {
  const auto found = std::ranges::find(children_, name.text, &Element::name);
  return found == children_.end() ? nullptr : &*found;
}

Element& Element::child(Name name) {
  Element* found = find(name);
  return found ? *found : add(name);
}

void Element::remove(Name name) {
  children_.remove_if([&](const Element& child) { return child.name() == name.text; });
}

}  // namespace vg::domain

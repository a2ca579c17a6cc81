#include "domain/vmi.h"

#include <algorithm>

namespace vg::domain {

bool equal_in_any_case(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(one, other, {}, lower, lower);
}

bool Vmi::is_true_in_any_case(std::string_view key) const { return equal_in_any_case(annotations[key], "true"); }

DiskKind kind_of(const kubevirt::Disk& disk) {
  if (disk.disk()) return DiskKind::disk;
  if (disk.lun()) return DiskKind::lun;
  return disk.cdrom() ? DiskKind::cdrom : DiskKind::none;
}

std::string_view bus_of(const kubevirt::Disk& disk) {
  switch (kind_of(disk)) {
    case DiskKind::disk:
      return disk.disk().bus();
    case DiskKind::lun:
      return disk.lun().bus();
    case DiskKind::cdrom:
      return disk.cdrom().bus();
    case DiskKind::none:
      break;
  }
  return {};
}

namespace {

std::optional<Quantity> amount_in(const api::Map<api::QuantityView>& amounts, std::string_view resource) {
  if (!amounts.contains(resource)) return std::nullopt;
  return amount_of(amounts[resource]);
}

}  // namespace

std::optional<Quantity> requested(const Vmi& vmi, std::string_view resource) {
  return amount_in(vmi.dom.resources().requests(), resource);
}

std::optional<Quantity> limited(const Vmi& vmi, std::string_view resource) {
  return amount_in(vmi.dom.resources().limits(), resource);
}

}  // namespace vg::domain

// DOM-BLK
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "domain/conversion.h"
#include "domain/refusal.h"

namespace vg::domain {
namespace {

// DOM-BLK-01, DOM-BLK-02
Result<void> write_custom(const Conversion& c, const kubevirt::CustomBlockSize& custom, std::string_view field,
                          Element& disk) {
  const auto limit = c.traits.block_size_max;
  if (limit && std::max(custom.logical(), custom.physical()) > *limit)
    return refuse("DOM-BLK-02", fmt::format("{}.blockSize.custom", field),
                  fmt::format("must not be larger than {} on {}", *limit, c.traits.name));
  Element& sizes = disk.child("blockio");
  sizes.set_if("logical_block_size", custom.logical()).set_if("physical_block_size", custom.physical());
  if (custom.discard_granularity()) sizes.set("discard_granularity", *custom.discard_granularity());
  return {};
}

// DOM-BLK-03a: what a device reports, made consistent.
Result<BlockSizes> corrected(BlockSizes sizes, std::string_view field) {
  const std::uint64_t reported_physical = sizes.physical;
  if (sizes.logical == 0 && sizes.physical == 0)
    return refuse("DOM-BLK-03a", field, "the device reports block sizes of 0");
  if (sizes.logical == 0) sizes.logical = sizes.physical;
  if (sizes.physical == 0) sizes.physical = sizes.logical;
  if (sizes.discard % sizes.logical != 0) sizes.discard = reported_physical;
  return sizes;
}

// DOM-BLK-03
Result<void> write_matching(const Conversion& c, std::string_view field, Element& disk) {
  const Element* source = disk.find("source");
  const Element* store = source ? source->find("dataStore") : nullptr;
  const Element* back_end = store ? store->find("source") : source;
  const bool block = back_end && back_end->has("dev");
  const std::string path(!back_end ? std::string_view() : block ? back_end->get("dev") : back_end->get("file"));
  const std::string place = fmt::format("{}.blockSize.matchVolume", field);
  if (path.empty()) return refuse("DOM-BLK-03", place, "must not be set on a disk without file or device");
  if (!c.context.probes.block_size)
    return refuse("DOM-BLK-03", place, fmt::format("the block size of {} is not known here", path));
  auto sizes = c.context.probes.block_size(path, block);
  if (sizes && block) sizes = corrected(*sizes, place);
  if (!sizes) return fail(sizes.error());
  disk.child("blockio")
      .set_if("logical_block_size", sizes->logical)
      .set_if("physical_block_size", sizes->physical)
      .set("discard_granularity", sizes->discard);
  return {};
}

}  // namespace

Result<void> write_block_size(const Conversion& c, const kubevirt::Disk& given, std::string_view field, Element& disk) {
  const auto size = given.block_size();
  if (size.custom()) return write_custom(c, size.custom(), field, disk);
  const kubevirt::FeatureState match(size.get("matchVolume"));
  if (match && match.enabled().value_or(true)) return write_matching(c, field, disk);
  return {};
}

}  // namespace vg::domain

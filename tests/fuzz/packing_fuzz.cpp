// Every object is packed in memory and opened again for whoever reads it. Whatever its bytes, whatever came before it
// and became the dictionary: what comes out is what went in.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "store/packer.h"

namespace {

void expect(bool ok) {
  if (!ok) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first byte says how often the packer sees the objects; zero bytes separate one object from the next.
  if (size == 0) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::string_view> texts;
  while (texts.size() < 64) {
    const auto end = input.find('\0');
    texts.push_back(input.substr(0, end));
    if (end == std::string_view::npos) break;
    input.remove_prefix(end + 1);
  }
  vg::store::Packer packer;
  vg::store::KeptObject::Reader reader;
  const vg::Stamp stamp{.revision = 7, .created_revision = 3, .ordinal = 2};
  for (int round = 0; round <= data[0] % 64; ++round) {
    for (const auto text : texts) {
      const auto object = vg::StoredObject::make({.resource = "things",
                                                  .ns = text.substr(0, 20),
                                                  .name = text.substr(0, 40),
                                                  .uid = text.substr(0, 36),
                                                  .facts = text.substr(0, 10),
                                                  .json = text});
      const auto kept = packer.pack(*object, stamp);
      object->stamp(stamp);
      expect(kept->open()->image() == object->image());
      expect(reader.open(*kept).image() == object->image());
      expect(kept->name() == object->name() && kept->ns() == object->ns());
    }
  }
  return 0;
}

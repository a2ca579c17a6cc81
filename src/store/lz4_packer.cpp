// Objects of a resource repeat one another: identifiers are shortened, then LZ4 compresses the rest with a dictionary.
//
// The dictionary is nothing but some of the objects that came before. Every now and then the newest ones are tried as
// another dictionary, on a few objects side by side with the one in use, and take its place if they do better: what
// people create changes, and the first objects may have been odd ones.
#include <lz4.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/release.h"
#include "base/store_limits.h"
#include "store/identifiers.h"
#include "store/packer.h"

namespace vg::store {
namespace {

// What does not save an eighth stays as it is.
std::size_t worthwhile(std::size_t bytes) { return bytes - bytes / 8; }

// A dictionary, ready for compressing.
struct Codebook {
  explicit Codebook(std::string text) : dictionary(new Dictionary(std::move(text))) {
    LZ4_initStream(&state, sizeof state);
    LZ4_loadDict(&state, dictionary->bytes.data(), static_cast<int>(dictionary->bytes.size()));
  }
  DictionaryPtr dictionary;
  LZ4_stream_t state;
};

struct Trial {
  std::unique_ptr<Codebook> candidate;  // null: its samples are still being gathered
  std::string samples = {};
  std::size_t objects = 0;
  std::size_t bytes_in_use = 0, bytes_with_candidate = 0;
};

bool decompress(std::string_view packed, const Dictionary* dictionary, char* to, std::size_t size) {
  if (packed.size() == size) {  // it was not worth it
    std::memcpy(to, packed.data(), size);
    return true;
  }
  const std::string_view known = dictionary ? std::string_view(dictionary->bytes) : std::string_view();
  const int got = LZ4_decompress_safe_usingDict(packed.data(), to, static_cast<int>(packed.size()),
                                                static_cast<int>(size), known.data(), static_cast<int>(known.size()));
  return got == static_cast<int>(size);
}

}  // namespace

struct Packer::State {
  KeptPtr pack(const StoredObject& object, const Stamp& stamp);

 private:
  std::size_t shorten(std::string_view image);
  std::size_t compress(const Codebook* codebook, std::string_view image);
  void consider(std::string_view image, std::size_t packed_size);
  void gather(std::string_view image);
  void release_large_buffers();

  std::unique_ptr<Codebook> in_use_;  // null until there was enough to learn from
  std::unique_ptr<Trial> trial_;      // null between trials
  std::size_t objects_until_trial_ = 0;
  std::string shortened_;
  std::unique_ptr<char[]> buffer_;
  std::size_t buffer_size_ = 0;
};

Packer::Packer() : state_(std::make_unique<State>()) {}
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

KeptPtr Packer::pack(const StoredObject& object, const Stamp& stamp) { return state_->pack(object, stamp); }

bool Packer::unpack(const PackedImage& packed, char* to, std::size_t size) {
  // The short form at the end of the space, so that it can be restored in place.
  const auto missing = packed.identifiers * identifier_saving;
  if (missing > size || !decompress(packed.bytes, packed.dictionary, to + missing, size - missing)) return false;
  if (packed.identifiers == 0) return true;
  std::memmove(to, to + missing, sizeof(StoredObject));  // the header has none, and may look as if it had
  restore_identifiers(to + sizeof(StoredObject), size - sizeof(StoredObject), packed.identifiers);
  return true;
}

KeptPtr Packer::State::pack(const StoredObject& object, const Stamp& stamp) {
  auto image = object.image();
  const auto identifiers = shorten(image);
  if (identifiers > 0) image = shortened_;
  PackedImage packed{.bytes = image, .identifiers = identifiers};
  if (const auto size = compress(in_use_.get(), image); size > 0) {
    packed.bytes = {buffer_.get(), size};
    if (in_use_) packed.dictionary = in_use_->dictionary.get();
  }
  auto kept = KeptObject::make(object, stamp, packed);
  consider(image, packed.bytes.size());
  release_large_buffers();
  return kept;
}

// Into shortened_. The header is no text and stays as it is.
std::size_t Packer::State::shorten(std::string_view image) {
  shortened_.assign(image, 0, sizeof(StoredObject));
  return shorten_identifiers(image.substr(sizeof(StoredObject)), shortened_);
}

void Packer::State::release_large_buffers() {
  if (shortened_.capacity() > store_limits::packing_buffer_bytes_max) release(shortened_);
  if (buffer_size_ <= store_limits::packing_buffer_bytes_max) return;
  buffer_.reset();
  buffer_size_ = 0;
}

// Into the buffer. 0: it is not worth it.
std::size_t Packer::State::compress(const Codebook* codebook, std::string_view image) {
  if (image.size() < (codebook == nullptr ? store_limits::packed_alone_bytes_min : store_limits::packed_bytes_min))
    return 0;
  const auto space = worthwhile(image.size());
  if (buffer_size_ < space) {
    buffer_ = std::make_unique_for_overwrite<char[]>(space);
    buffer_size_ = space;
  }
  const auto size = static_cast<int>(image.size());
  if (codebook == nullptr)
    return static_cast<std::size_t>(LZ4_compress_default(image.data(), buffer_.get(), size, static_cast<int>(space)));
  LZ4_stream_t state = codebook->state;  // compressing changes it
  return static_cast<std::size_t>(
      LZ4_compress_fast_continue(&state, image.data(), buffer_.get(), size, static_cast<int>(space), 1));
}

void Packer::State::consider(std::string_view image, std::size_t packed_size) {
  if (objects_until_trial_ > 0) {
    --objects_until_trial_;
    return;
  }
  if (!trial_) trial_ = std::make_unique<Trial>();
  if (!trial_->candidate) return gather(image);
  const auto size = compress(trial_->candidate.get(), image);
  trial_->bytes_in_use += packed_size;
  trial_->bytes_with_candidate += size == 0 ? image.size() : size;
  if (++trial_->objects < store_limits::trial_objects) return;
  if (trial_->bytes_with_candidate < worthwhile(trial_->bytes_in_use)) in_use_ = std::move(trial_->candidate);
  trial_.reset();
  objects_until_trial_ = store_limits::objects_between_trials;
}

void Packer::State::gather(std::string_view image) {
  using store_limits::dictionary_bytes;
  auto& samples = trial_->samples;
  samples.append(image.substr(0, std::min(store_limits::sample_bytes_max, dictionary_bytes - samples.size())));
  if (samples.size() == dictionary_bytes) trial_->candidate = std::make_unique<Codebook>(std::move(samples));
}

}  // namespace vg::store

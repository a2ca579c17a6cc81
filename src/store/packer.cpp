#include "store/packer.h"

#include <lz4.h>

#include <algorithm>
#include <utility>

#include "base/release.h"
#include "store/identifiers.h"

namespace vg::store {
namespace {

// A dozen typical machines. LZ4 finds what is at most 64 KiB away, and remembers 4,096 places of it.
constexpr std::size_t dictionary_bytes = 16 * 1024;
// The head of a large object says what it is; its rest is its own.
constexpr std::size_t sample_bytes_max = 8 * 1024;
constexpr std::size_t trial_objects = 16;
// Seldom enough that dictionaries, should each be replaced, cost the objects in between 32 bytes each.
constexpr std::size_t objects_between_trials = 512;
// By itself an object has to be this large before it repeats enough.
constexpr std::size_t packed_alone_bytes_min = 4 * 1024;
// Below this there is nothing to save.
constexpr std::size_t packed_bytes_min = 128;
// What is kept for the next object.
constexpr std::size_t buffer_bytes_max = 64 * 1024;

// What does not save an eighth stays as it is.
std::size_t worthwhile(std::size_t bytes) { return bytes - bytes / 8; }

}  // namespace

struct Packer::Codebook {
  explicit Codebook(std::string text) : dictionary(new Dictionary(std::move(text))) {
    LZ4_initStream(&state, sizeof state);
    LZ4_loadDict(&state, dictionary->bytes.data(), static_cast<int>(dictionary->bytes.size()));
  }
  DictionaryPtr dictionary;
  LZ4_stream_t state;
};

Packer::Packer() = default;
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

KeptPtr Packer::pack(const StoredObject& object, const Stamp& stamp) {
  auto image = object.image();
  const auto identifiers = shorten(image);
  if (identifiers > 0) image = shortened_;
  KeptObject::Packed packed{.bytes = image, .identifiers = identifiers};
  if (const auto size = compress(in_use_.get(), image); size > 0) {
    packed.bytes = {buffer_.get(), size};
    if (in_use_) packed.dictionary = in_use_->dictionary;
  }
  const auto packed_size = packed.bytes.size();
  auto kept = KeptObject::make(object, stamp, std::move(packed));
  consider(image, packed_size);
  release_large_buffers();
  return kept;
}

// Into shortened_. The header is no text and stays as it is.
std::size_t Packer::shorten(std::string_view image) {
  shortened_.assign(image, 0, sizeof(StoredObject));
  return shorten_identifiers(image.substr(sizeof(StoredObject)), shortened_);
}

void Packer::release_large_buffers() {
  if (shortened_.capacity() > buffer_bytes_max) release(shortened_);
  if (buffer_size_ <= buffer_bytes_max) return;
  buffer_.reset();
  buffer_size_ = 0;
}

// Into the buffer. 0: it is not worth it.
std::size_t Packer::compress(const Codebook* codebook, std::string_view image) {
  if (image.size() < (codebook == nullptr ? packed_alone_bytes_min : packed_bytes_min)) return 0;
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

void Packer::consider(std::string_view image, std::size_t packed_size) {
  if (objects_until_trial_ > 0) {
    --objects_until_trial_;
    return;
  }
  if (!trial_) trial_ = std::make_unique<Trial>();
  if (!trial_->candidate) return gather(image);
  const auto size = compress(trial_->candidate.get(), image);
  trial_->bytes_in_use += packed_size;
  trial_->bytes_with_candidate += size == 0 ? image.size() : size;
  if (++trial_->objects < trial_objects) return;
  if (trial_->bytes_with_candidate < worthwhile(trial_->bytes_in_use)) in_use_ = std::move(trial_->candidate);
  trial_.reset();
  objects_until_trial_ = objects_between_trials;
}

void Packer::gather(std::string_view image) {
  auto& samples = trial_->samples;
  samples.append(image.substr(0, std::min(sample_bytes_max, dictionary_bytes - samples.size())));
  if (samples.size() == dictionary_bytes) trial_->candidate = std::make_unique<Codebook>(std::move(samples));
}

}  // namespace vg::store

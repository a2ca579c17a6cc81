// Packs the objects of one resource, and learns from them what they have in common.
//
// The dictionary is nothing but some of the objects that came before. Every now and then the newest ones are tried as
// another dictionary, on a few objects side by side with the one in use, and take its place if they do better: what
// people create changes, and the first objects may have been odd ones. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "store/kept_object.h"

namespace vg::store {

class Packer {
 public:
  Packer();
  ~Packer();
  Packer(Packer&&) noexcept;
  Packer& operator=(Packer&&) noexcept;

  // `object` without its stamp, which comes beside it.
  KeptPtr pack(const StoredObject& object, const Stamp& stamp);

 private:
  struct Codebook;  // a dictionary, ready for compressing
  struct Trial {
    std::unique_ptr<Codebook> candidate;  // null: its samples are still being gathered
    std::string samples = {};
    std::size_t objects = 0;
    std::size_t bytes_in_use = 0, bytes_with_candidate = 0;
  };

  std::size_t compress(const Codebook* codebook, std::string_view image);
  void consider(std::string_view image, std::size_t packed_size);
  void gather(std::string_view image);
  std::size_t shorten(std::string_view image);
  void release_large_buffers();

  std::unique_ptr<Codebook> in_use_;  // null until there was enough to learn from
  std::unique_ptr<Trial> trial_;      // null between trials
  std::size_t objects_until_trial_ = 0;
  std::string shortened_;
  std::unique_ptr<char[]> buffer_;
  std::size_t buffer_size_ = 0;
};

}  // namespace vg::store

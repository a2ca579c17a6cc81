// Giving memory back. Clearing a string or a vector, and assigning an empty one to it, keep its memory for the next
// content: right for a buffer that is filled again at once, wrong for one that waits.
#pragma once

#include <cstddef>

namespace vg {

template <class Container>
void release(Container& container) {
  Container().swap(container);
}

// Empties it. What it took up to `kept` elements stays for the next content, more is given back.
template <class Container>
void clear_keeping(Container& container, std::size_t kept) {
  if (container.capacity() > kept) {
    release(container);
  } else {
    container.clear();
  }
}

}  // namespace vg

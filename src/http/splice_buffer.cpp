#include "http/splice_buffer.h"

#include <atomic>
#include <vector>

#include "base/budgets.h"

namespace vg::http {

namespace {

std::atomic<std::size_t> used{0};

struct Store {
  std::vector<std::unique_ptr<char[]>> free;
  bool& gone;
  explicit Store(bool& flag) : gone(flag) { free.reserve(budgets::kept_stream_buffers_max); }
  ~Store() { gone = true; }
};

// A buffer may come back while a thread ends, after its store is gone.
thread_local bool store_is_gone = false;

Store* store() {
  if (store_is_gone) return nullptr;
  thread_local Store instance(store_is_gone);
  return &instance;
}

}  // namespace

SpliceBuffer SpliceBuffer::take() {
  SpliceBuffer buffer;
  Store* const here = store();
  if (here != nullptr && !here->free.empty()) {
    buffer.memory_.reset(here->free.back().release());
    here->free.pop_back();
  } else {
    buffer.memory_.reset(new char[ws::max_head + capacity]);
  }
  used.fetch_add(1, std::memory_order_relaxed);
  return buffer;
}

void SpliceBuffer::GiveBack::operator()(char* memory) const {
  used.fetch_sub(1, std::memory_order_relaxed);
  std::unique_ptr<char[]> owned(memory);
  Store* const here = store();
  if (here != nullptr && here->free.size() < budgets::kept_stream_buffers_max) here->free.push_back(std::move(owned));
}

std::size_t SpliceBuffer::kept() {
  Store* const here = store();
  return here != nullptr ? here->free.size() : 0;
}

std::size_t SpliceBuffer::in_use() { return used.load(std::memory_order_relaxed); }

}  // namespace vg::http

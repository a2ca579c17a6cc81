// What a node must remember of its guests and the hypervisor does not: kept in a file, so that a process that was
// killed goes on where it was. On the core, but for what save() hands to a worker.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/core.h"
#include "base/status.h"
#include "base/task.h"
#include "guests/case.h"

namespace vg::handler {

using controllers::Key;

class Records {
 public:
  // Returns once the text is kept.
  using Keep = std::function<Task<Result<void>>(Core& core, std::string text)>;
  // `text`: as it was kept last; empty: nothing was.
  Records(std::string_view text, Keep keep);
  // A file that cannot be read is put aside, and said so: guests that run are found again by the hypervisor.
  static Records in_file(const std::string& file);

  // Made when there is none.
  guests::Remembered& of(const Key& key) { return records_[key]; }
  const guests::Remembered* find(const Key& key) const;
  void forget(const Key& key) { records_.erase(key); }
  std::vector<Key> keys() const;

  // Returns once it is kept. Nothing happens if nothing changed.
  Task<Result<void>> save(Core& core);
  // The same of whose files these are, before any of them is made or removed: the next process must know of them when
  // this one is killed in between. An empty uid is not written.
  Task<Result<void>> write_down(Core& core, const Key& key, std::string uid);
  std::string text() const;

 private:
  Keep keep_;
  std::map<Key, guests::Remembered> records_;
  std::string saved_;
};

}  // namespace vg::handler

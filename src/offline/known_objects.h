// The objects that exist while others are judged: those of the files at hand, and what a running cluster has beside
// them. This is the one place where look-ups of rules are answered without a server.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "ports/object_store.h"

namespace vg::offline {

// Where else objects may be found: a running cluster. Any thread may ask, and waits for the answer.
class FurtherObjects {
 public:
  virtual ~FurtherObjects() = default;
  virtual Result<ObjectPtr> get(const ObjectKey& key) const = 0;
  virtual Result<std::vector<ObjectPtr>> list(std::string_view resource, std::string_view ns) const = 0;
};

// Grows while files are read. Any thread may add and ask.
class KnownObjects {
 public:
  explicit KnownObjects(const FurtherObjects* further = nullptr) : further_(further) {}

  // `order` says which of two of the same name counts: the one that stands first.
  void add(ObjectPtr object, std::size_t order);
  ObjectPtr get(std::string_view resource, std::string_view ns, std::string_view name) const;
  std::vector<ObjectPtr> list(std::string_view resource, std::string_view ns) const;
  // How many there are by now: answers about a resource stay good as long as this stays the same.
  std::size_t count(std::string_view resource) const;
  // The order of the first of that name.
  std::size_t first_of(const ObjectKey& key) const;
  // The orders of objects that were the first of their name until one was added that stands before them.
  std::set<std::size_t> displaced() const;
  const FurtherObjects* further() const { return further_; }

 private:
  struct Entry {
    ObjectPtr object;
    std::size_t order;
  };
  static std::string key_text(std::string_view resource, std::string_view ns, std::string_view name);

  const FurtherObjects* further_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, Entry> objects_;
  std::map<std::string, std::size_t, std::less<>> counts_;
  std::set<std::size_t> displaced_;
};

// A name that somebody looked for and that nothing answers to.
struct Missing {
  std::string resource, ns, name;
  auto operator<=>(const Missing&) const = default;
};

// What stands in for objects that are not there, to see what would be wrong even if they were: nothing, or one of two
// that are as unlike as they may be.
enum class StandIn { none, modest, ample };
// The name that stand-ins give to others.
inline constexpr std::string_view stand_in_name = "virtgate-stand-in";

// What one object finds when it is judged: everything but itself. Notes what was asked for. One thread at a time.
class ObjectsBeside final : public ObjectStore {
 public:
  // `any_namespace`: namespaces that are not known exist all the same.
  ObjectsBeside(const KnownObjects& known, ObjectKey self, StandIn stand_in, bool any_namespace)
      : known_(known), self_(std::move(self)), stand_in_(stand_in), any_namespace_(any_namespace) {}

  const std::set<Missing>& missing() const { return missing_; }
  // Resources about which a later object could change the answer, with their number when it was asked for.
  const std::map<std::string, std::size_t>& asked() const { return asked_; }
  // Why something could not be found out; empty otherwise.
  const std::string& failure() const { return failure_; }

  ObjectPtr get(std::string_view resource, std::string_view ns, std::string_view name) const override;
  Result<ListPage> list(const ListQuery& query) const override;
  std::size_t count(std::string_view resource) const override;

  // Nothing is written, and nothing of it changes.
  void submit(Transaction transaction, Completion done) override;
  Revision revision() const override { return 1; }
  ObjectList owned_by(std::string_view) const override { return {}; }
  std::vector<std::string> resources() const override { return {}; }
  Revision oldest_revision(std::string_view) const override { return 1; }
  Result<std::unique_ptr<Watch>> watch(WatchQuery query, Waker waker) override;
  StoreHealth health() const override { return {}; }

 private:
  void note(std::string_view resource) const;
  ObjectPtr find_further(std::string_view resource, std::string_view ns, std::string_view name) const;

  const KnownObjects& known_;
  ObjectKey self_;
  StandIn stand_in_;
  bool any_namespace_;
  mutable std::set<Missing> missing_;
  mutable std::map<std::string, std::size_t> asked_;
  mutable std::string failure_;
};

// The object as it would be kept. Null when it has no name.
ObjectPtr known_object(const json::Object& object, std::string_view ns);

}  // namespace vg::offline

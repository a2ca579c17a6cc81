// What can still be read of a store whose file or log is damaged.
//
// It does not trust the file's structure: every page of the database, and every page that the write-ahead log holds, is
// looked at by itself, and whatever looks like a row is believed if its checksum says so. So a damaged page costs the
// rows on it and no others, and it does not matter which page it is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ports/stored_object.h"
#include "store/high_water_mark.h"
#include "store/row.h"

namespace vg::store {

// A row with its own bytes.
struct SalvagedRow {
  std::string resource, ns, name, uid, facts, json;  // json as it stands in the file
  std::uint32_t revision_offset = 0;
  Stamp stamp;
  bool tombstone = false;

  Record record() const;
};

struct Salvage {
  std::vector<SalvagedRow> objects;   // the newest version that was found of each, by resource, namespace and name
  std::vector<std::string> damaged;   // rows that could be made out and not read, each in words
  std::vector<std::string> problems;  // what else was wrong
  Revision newest = 0;                // the highest revision that was found
  std::uint64_t rows = 0;             // rows of any version that were read
  MarkReading mark;
  bool whole = false;   // the store is as it was written, and all of it is in `objects`
  bool sealed = false;  // else of an older format: that no row is missing cannot be told
};

// `path` is the store's file; it, its log and its mark may be missing. Changes nothing. Nobody else may have the store
// open.
Salvage salvage(const std::string& path);

// All objects as one document of kind List, without resource versions: what `kubectl apply -f` takes. Those that are
// sealed need the cipher, which may be null; those that cannot be opened are left out and returned, each in words.
std::vector<std::string> append_as_list(std::string& out, const std::vector<SalvagedRow>& objects,
                                        const ValueCipher* cipher = nullptr);

// Writes a new store with these objects and nothing else at `path`, where none may be, and its mark. Revisions go on
// after `newest`; watches cannot resume from before it.
DiskResult write_store(const std::string& path, const std::vector<SalvagedRow>& objects, Revision newest);

}  // namespace vg::store

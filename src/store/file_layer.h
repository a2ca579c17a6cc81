// A layer of our own under SQLite's files (its word is "VFS"), over the system's or another one: SQLite opens its files
// through it, and what a subclass overrides passes through there on its way down.
//
// Files have the first version of SQLite's methods: no shared memory and no mapping, which the store must not need.
#pragma once

#include <sqlite3.h>

#include <string>
#include <string_view>

namespace vg::store {

class FileLayer {
 public:
  // `name` is what SQLite knows it by, and nobody else's. `below` is the name of the layer below; null: SQLite's
  // default.
  FileLayer(std::string name, const char* below);
  // Every file must be closed by then.
  virtual ~FileLayer();
  FileLayer(const FileLayer&) = delete;
  FileLayer& operator=(const FileLayer&) = delete;
  const char* name() const { return name_.c_str(); }

  // An open file.
  class File {
   public:
    std::string_view path() const { return *path_; }
    bool is_log() const { return path().ends_with("-wal"); }

   private:
    friend class FileLayer;
    sqlite3_file base_;  // first: this is what SQLite has
    FileLayer* layer_;
    std::string* path_;
    // The file of the layer below lies behind this one.
    sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };

 protected:
  virtual void opened(File& /*file*/) {}
  // These return SQLite's codes, and pass it on to the layer below.
  virtual int write(File& file, const void* bytes, int size, sqlite3_int64 at);
  virtual int truncate(File& file, sqlite3_int64 size);
  virtual int sync(File& file, int flags);
  virtual int remove(const char* path, int sync_folder);
  static int size(File& file, sqlite3_int64& bytes);

 private:
  static File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_file* below(sqlite3_file* file) { return of(file).below(); }
  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags);
  static int close(sqlite3_file* file);
  static const sqlite3_io_methods& methods();

  const std::string name_;
  sqlite3_vfs* const below_;
  sqlite3_vfs vfs_;
};

}  // namespace vg::store

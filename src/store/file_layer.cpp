#include "store/file_layer.h"

#include <cstdlib>
#include <new>
#include <utility>

namespace vg::store {

FileLayer::FileLayer(std::string name, const char* below)
    : name_(std::move(name)), below_(sqlite3_vfs_find(below)), vfs_(*below_) {
  vfs_.zName = name_.c_str();
  vfs_.pNext = nullptr;
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + below_->szOsFile;
  vfs_.pAppData = this;
  vfs_.xOpen = open;
  vfs_.xDelete = [](sqlite3_vfs* vfs, const char* path, int sync_folder) {
    return static_cast<FileLayer*>(vfs->pAppData)->remove(path, sync_folder);
  };
  // The other methods are told which layer they belong to by this argument, and some look at it.
  vfs_.xAccess = [](sqlite3_vfs* vfs, const char* path, int flags, int* out) {
    auto* down = static_cast<FileLayer*>(vfs->pAppData)->below_;
    return down->xAccess(down, path, flags, out);
  };
  vfs_.xFullPathname = [](sqlite3_vfs* vfs, const char* path, int size, char* out) {
    auto* down = static_cast<FileLayer*>(vfs->pAppData)->below_;
    return down->xFullPathname(down, path, size, out);
  };
  if (sqlite3_vfs_register(&vfs_, 0) != SQLITE_OK) std::abort();  // which takes memory alone
}

FileLayer::~FileLayer() { sqlite3_vfs_unregister(&vfs_); }

int FileLayer::write(File& file, const void* bytes, int size, sqlite3_int64 at) {
  return file.below()->pMethods->xWrite(file.below(), bytes, size, at);
}

int FileLayer::truncate(File& file, sqlite3_int64 size) {
  return file.below()->pMethods->xTruncate(file.below(), size);
}

int FileLayer::sync(File& file, int flags) { return file.below()->pMethods->xSync(file.below(), flags); }

int FileLayer::size(File& file, sqlite3_int64& bytes) {
  return file.below()->pMethods->xFileSize(file.below(), &bytes);
}

int FileLayer::remove(const char* path, int sync_folder) { return below_->xDelete(below_, path, sync_folder); }

int FileLayer::open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  auto* layer = static_cast<FileLayer*>(vfs->pAppData);
  auto* self = ::new (file) File{};
  const int code = layer->below_->xOpen(layer->below_, path, self->below(), flags, out_flags);
  if (code != SQLITE_OK) {
    // A layer that has set its methods wants to be closed even so.
    if (self->below()->pMethods != nullptr) self->below()->pMethods->xClose(self->below());
    return code;
  }
  self->layer_ = layer;
  self->path_ = new std::string(path == nullptr ? "" : path);
  self->base_.pMethods = &methods();
  layer->opened(*self);
  return SQLITE_OK;
}

int FileLayer::close(sqlite3_file* file) {
  delete of(file).path_;
  return below(file)->pMethods->xClose(below(file));
}

const sqlite3_io_methods& FileLayer::methods() {
  static const sqlite3_io_methods table = [] {
    sqlite3_io_methods m{};
    m.iVersion = 1;
    m.xClose = close;
    m.xRead = [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
      return below(f)->pMethods->xRead(below(f), to, n, at);
    };
    m.xWrite = [](sqlite3_file* f, const void* bytes, int n, sqlite3_int64 at) {
      return of(f).layer_->write(of(f), bytes, n, at);
    };
    m.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) { return of(f).layer_->truncate(of(f), size); };
    m.xSync = [](sqlite3_file* f, int flags) { return of(f).layer_->sync(of(f), flags); };
    m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) { return below(f)->pMethods->xFileSize(below(f), size); };
    m.xLock = [](sqlite3_file* f, int level) { return below(f)->pMethods->xLock(below(f), level); };
    m.xUnlock = [](sqlite3_file* f, int level) { return below(f)->pMethods->xUnlock(below(f), level); };
    m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
      return below(f)->pMethods->xCheckReservedLock(below(f), out);
    };
    m.xFileControl = [](sqlite3_file* f, int op, void* arg) {
      return below(f)->pMethods->xFileControl(below(f), op, arg);
    };
    m.xSectorSize = [](sqlite3_file* f) { return below(f)->pMethods->xSectorSize(below(f)); };
    m.xDeviceCharacteristics = [](sqlite3_file* f) { return below(f)->pMethods->xDeviceCharacteristics(below(f)); };
    return m;
  }();
  return table;
}

}  // namespace vg::store

// Where a node has its things.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace vg::handler {

struct NodePlace {
  std::string name;             // of its Node object
  std::string state;            // STATE/nodes/NAME: what outlives a run
  std::string sockets;          // a short path, for what guests and libvirt listen on
  std::string disks;            // STATE/disks: claims
  std::string images;           // STATE/images: container disks, shared by the nodes of a machine
  std::string handler_address;  // where the handler's paths are served
  std::string tpm = {};         // where its own libvirt keeps the state of TPMs; empty: another libvirt is used
  unsigned nodes = 1;           // of this machine: they share its CPUs and memory
};

// Sockets by which guests move between the nodes of a machine. QEMUs with a view of the file system of their own see
// the folder of their node in its place: libvirt has one path for both ends.
inline std::string moves_folder(const std::string& sockets) { return sockets.substr(0, sockets.rfind('/')) + "/moves"; }
inline std::string own_moves_folder(const std::string& sockets) {
  return moves_folder(sockets) + sockets.substr(sockets.rfind('/'));
}

// Those of one guest, which stay when processes are killed while it moves.
inline void remove_moves(const std::string& sockets, const std::string& uid) {
  std::error_code error;
  using Folder = std::filesystem::recursive_directory_iterator;
  // Folders of nodes are below it, which guests' programs can write to: nothing deeper is looked at.
  Folder at(moves_folder(sockets), std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && at != Folder(); at.increment(error)) {
    if (at.depth() > 0) at.disable_recursion_pending();
    std::error_code kept;
    if (!uid.empty() && at->path().filename().native().starts_with(uid) && std::filesystem::remove(at->path(), kept))
      at.disable_recursion_pending();  // if it was a folder
  }
}

}  // namespace vg::handler

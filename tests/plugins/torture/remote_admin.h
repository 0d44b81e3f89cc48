#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "client/cpp/admin.h"
#include "tests/plugins/torture/builds.h"
#include "tests/plugins/torture/remote_caller.h"

namespace opyard::torture {

// Plugins of one slot in the daemon's plugin directory.
class RemoteFiles {
 public:
  virtual ~RemoteFiles() = default;
  struct File {
    std::string name;  // as an admin says it
    std::string path;
    uint64_t build;
  };
  virtual File make(torture_fault fault) = 0;
};
// Of the torture plugin at `file`, with stamps.
std::unique_ptr<RemoteFiles> stamped_files(const std::string& file, const std::string& folder);
// Of a plugin without a stamp: equal but for bytes behind its end.
std::unique_ptr<RemoteFiles> copied_files(const std::string& file, const std::string& folder);

// One administrator of one slot, by its seed. Used by one thread.
class RemoteAdmin {
 public:
  // `history`: null when nobody tells the slot's builds apart, or when others change it, too.
  RemoteAdmin(RemoteState& state, const std::string& address, std::string slot, History* history,
              RemoteFiles& files, uint64_t seed);

  void load();
  void step(bool may_unload);
  // Until `stop`, not caring how changes end; the daemon may leave meanwhile.
  void storm(const std::atomic<bool>& stop);
  void unload();

  uint64_t changes() const { return changes_; }
  client::PluginList list();

 private:
  void change(const char* what, torture_fault fault, std::initializer_list<Code> expected);
  client::PluginChange carry_out(const std::string& what, torture_fault fault);
  void keep(const RemoteFiles::File& file);

  RemoteState& state_;
  const std::unique_ptr<client::Admin> admin_;
  const std::string slot_;
  History* const history_;
  RemoteFiles& files_;
  std::mt19937_64 random_;
  std::map<uint64_t, uint64_t> build_of_;  // by the generation's number
  std::vector<RemoteFiles::File> kept_;    // files that are still there
  uint64_t active_ = 0;                    // build
  uint64_t tried_ = 0;                     // build of the change that is under way
  uint64_t changes_ = 0;
};

}  // namespace opyard::torture

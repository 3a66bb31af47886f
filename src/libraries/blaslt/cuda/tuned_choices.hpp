#pragma once

#include "libraries/blaslt/cuda/plan_key.hpp"
#include "os/private_folder.hpp"

#include <troupe/base/result.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe::cuda {

/// Kernels that were measured to be the fastest, by the keys of plans. They are kept on disk for
/// later processes: a file for each identity (library, driver, device), in a folder that only this
/// user may read. Entries are checked when they are read; a damaged one is ignored. Processes may
/// share the folder: a file is replaced as a whole, together with the entries of others.
class tuned_choices {
 public:
  /// A kernel, as `lt_plan` keeps it.
  using choice = std::array<std::uint64_t, 8>;

  /// Without a folder: kept in memory only.
  tuned_choices() = default;
  /// Makes the folder if it is not there. \errors those of `os::private_folder::open`
  [[nodiscard]] static result<tuned_choices> open(const std::string& folder,
                                                  const std::string& identity);

  /// Null if the key is not known.
  [[nodiscard]] const choice* find(const matmul_key& key) const;
  /// A choice that cannot be written to disk is still kept in memory.
  void keep(const matmul_key& key, const choice& chosen);

  /// troupe/matmuls in $XDG_CACHE_HOME, or in ~/.cache; empty if neither is known.
  [[nodiscard]] static std::string default_folder();

 private:
  using numbers = std::vector<std::int64_t>;
  using by_key = std::map<numbers, choice>;

  [[nodiscard]] by_key read() const;
  [[nodiscard]] bool write(const by_key& all) const;

  os::private_folder folder_;
  std::string name_;
  std::string header_;
  by_key known_;
};

}  // namespace troupe::cuda

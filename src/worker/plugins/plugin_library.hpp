#pragma once

#include <troupe/base/result.hpp>
#include <troupe/plugin/executor.hpp>
#include <troupe/plugin/plugin_stamp.hpp>

#include <string>
#include <string_view>

namespace troupe::worker {

/// A plugin's file, never unloaded: executors and their libraries have threads and caches of their
/// own.
class plugin_library {
 public:
  /// \errors `library_missing` with the loader's message
  [[nodiscard]] static result<plugin_library> open(const std::string& path);

  /// The entry point, or datum, of that name, or null.
  template <class Entry>
  [[nodiscard]] Entry* find(const char* name) const noexcept {
    return reinterpret_cast<Entry*>(address_of(name));
  }
  /// The build that it was made for; null if it has no stamp.
  [[nodiscard]] const plugin_stamp* stamp() const noexcept {
    return find<const plugin_stamp>("troupe_backend_stamp");
  }
  /// \errors `library_missing` for a file that is no plugin; those of `check_stamp`
  [[nodiscard]] result<void> add_operations(operation_table& operations) const;

 private:
  explicit plugin_library(void* handle) noexcept : handle_(handle) {}
  [[nodiscard]] void* address_of(const char* name) const noexcept;

  void* handle_;
};

/// \errors `version_mismatch` with both stamps for a plugin that was built for another Troupe, or
/// by a compiler with another layout of its types
[[nodiscard]] result<void> check_stamp(const plugin_stamp& stamp);

}  // namespace troupe::worker

#pragma once

#include <troupe/base/result.hpp>

#include <string>

namespace troupe::info {

/// A shared library as the loader finds it. Never closed: threads that it has started may still
/// run.
class found_library {
 public:
  /// `name` is a path, or a soname that is searched for as in any program: LD_LIBRARY_PATH, then
  /// the system's folders.
  /// \errors `library_missing` with the loader's message
  [[nodiscard]] static result<found_library> open(const std::string& name);

  /// The function of that name, or null.
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }
  /// The file that was loaded.
  [[nodiscard]] std::string path() const;

 private:
  explicit found_library(void* handle) noexcept : handle_(handle) {}
  [[nodiscard]] void* address(const char* name) const;

  void* handle_;
};

}  // namespace troupe::info

#pragma once

#include <troupe/base/result.hpp>

#include <dlfcn.h>

#include <string>
#include <string_view>

namespace troupe::jit {

/// A library of the vendor's, loaded for as long as this process lives.
class vendor_library {
 public:
  /// \errors `library_missing` with the loader's message
  [[nodiscard]] static result<vendor_library> open(const std::string& path) {
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return vendor_library(handle);
    const char* const message = ::dlerror();
    return error{.code = errc::library_missing,
                 .message = path + ": " + (message != nullptr ? message : "cannot be loaded"),
                 .call = "dlopen"};
  }

  /// Sets `to` to the function of that name; records the first one that is missing.
  template <class Function>
  void find(Function*& to, const char* name) {
    to = reinterpret_cast<Function*>(::dlsym(handle_, name));
    if (to == nullptr && missing_.empty()) missing_ = name;
  }
  /// The first function that `find` has not found, or "".
  [[nodiscard]] const std::string& missing() const noexcept { return missing_; }

 private:
  explicit vendor_library(void* handle) noexcept : handle_(handle) {}

  void* handle_;
  std::string missing_;
};

}  // namespace troupe::jit

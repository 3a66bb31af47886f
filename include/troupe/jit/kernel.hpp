#pragma once

#include <troupe/base/result.hpp>
#include <troupe/jit/arguments.hpp>
#include <troupe/jit/compiler.hpp>
#include <troupe/jit/digest.hpp>
#include <troupe/request/description.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::jit {

class signature;
class loaded_module;

/// A kernel of a module, as requests refer to it: the image, by its digest and the location of its
/// bytes, and the entry. Each worker loads it on first use, also a worker that replaces another
/// one. A value type; it keeps the image alive.
class TROUPE_EXPORT kernel {
 public:
  kernel() = default;

  /// Its name in the image.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Precondition: valid.
  [[nodiscard]] digest image_digest() const noexcept;
  [[nodiscard]] const any_tensor& image() const noexcept { return image_; }

  static void describe(description<kernel>& d);
  /// \errors `invalid_argument` for a kernel that belongs to no module
  /// Checks the count and types of arguments as far as the kernel's C++ name gives them. An
  /// `extern "C"` name gives nothing; the worker then checks count and sizes.
  /// \errors `invalid_argument` for the count, `type_mismatch` naming the parameter
  [[nodiscard]] result<void> check(const arguments& given) const;

 private:
  friend loaded_module;

  std::string name_;
  std::vector<std::int64_t> digest_;            // the image's, as it is sent
  any_tensor image_;                            // u8 in host memory
  std::shared_ptr<const signature> signature_;  // the name's, if the program made it
};

/// An image in a device's memory, accessible to all its workers. A value type; copies share it.
class TROUPE_EXPORT loaded_module {
 public:
  loaded_module() = default;

  /// The kernel for a name expression that the image was compiled with, or for a name in the image.
  /// \errors `invalid_argument` for a name with characters that cannot occur in an image
  [[nodiscard]] result<jit::kernel> kernel(std::string_view name) const;
  [[nodiscard]] const jit::digest& digest() const noexcept { return digest_; }

 private:
  friend TROUPE_EXPORT result<loaded_module> load(device& on, const binary& what);

  any_tensor image_;
  jit::digest digest_;
  std::vector<lowered_name> names_;
};

/// Places an image where the device's workers can access it. Local: sends no message. The GPU loads
/// it only when a request uses it; `attributes` is a request that does nothing else.
/// \errors `invalid_argument` for bytes that are not an image of the stated kind; `unsupported` for
/// LTO-IR, which must be linked first; `out_of_memory`; `device_stopped`
[[nodiscard]] TROUPE_EXPORT result<loaded_module> load(device& on, const binary& what);
/// The same for a cubin, PTX or fatbin from elsewhere; its first bytes tell which it is.
[[nodiscard]] TROUPE_EXPORT result<loaded_module> load(device& on,
                                                       std::span<const std::byte> image);

}  // namespace troupe::jit

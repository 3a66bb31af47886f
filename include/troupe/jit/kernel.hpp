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

/// A kernel of a module, as requests name it: which image, by its digest and where its bytes are,
/// and which entry. Every worker that meets it loads it by itself, also one that has taken over
/// from another. A value; it keeps the image.
class TROUPE_EXPORT kernel {
 public:
  kernel() = default;

  /// Its name in the image.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Precondition: valid.
  [[nodiscard]] digest image_digest() const noexcept;
  [[nodiscard]] const any_tensor& image() const noexcept { return image_; }

  static void describe(description<kernel>& d);
  /// \errors `invalid_argument` for one that is of no module
  /// Count and types, so far as the kernel's C++ name tells them: `extern "C"` tells nothing, and
  /// the worker then checks count and sizes.
  /// \errors `invalid_argument` for the count, `type_mismatch` naming the parameter
  [[nodiscard]] result<void> check(const arguments& given) const;

 private:
  friend loaded_module;

  std::string name_;
  std::vector<std::int64_t> digest_;            // of the image, as it travels
  any_tensor image_;                            // u8 in host memory
  std::shared_ptr<const signature> signature_;  // of the name, where the program made it
};

/// An image in a device's memory, where each of its workers finds it. A value; copies share it.
class TROUPE_EXPORT loaded_module {
 public:
  loaded_module() = default;

  /// The kernel of a name expression that the image was compiled with, or of a name in the image.
  /// \errors `invalid_argument` for a name with characters that no name in an image has
  [[nodiscard]] result<jit::kernel> kernel(std::string_view name) const;
  [[nodiscard]] const jit::digest& digest() const noexcept { return digest_; }

 private:
  friend TROUPE_EXPORT result<loaded_module> load(device& on, const binary& what);

  any_tensor image_;
  jit::digest digest_;
  std::vector<lowered_name> names_;
};

/// Puts an image where the device's workers find it; local, no message. Nothing is loaded on the
/// GPU before a request asks for it; `attributes` is one that does nothing else.
/// \errors `invalid_argument` for bytes that are no image of their kind; `unsupported` for LTO-IR,
/// which has to be linked first; `out_of_memory`; `device_stopped`
[[nodiscard]] TROUPE_EXPORT result<loaded_module> load(device& on, const binary& what);
/// The same for cubin, PTX or fatbin from elsewhere, which its first bytes tell apart.
[[nodiscard]] TROUPE_EXPORT result<loaded_module> load(device& on,
                                                       std::span<const std::byte> image);

}  // namespace troupe::jit

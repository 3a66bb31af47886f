#include "ops/jit/signature.hpp"
#include "ops/validation.hpp"

#include <troupe/ops/jit/kernel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace troupe::jit {

void kernel::describe(field_visitor& fields) {
  fields.value("kernel", name_);
  fields.value("image_digest", digest_);
  fields.reads("image", image_);
}

digest kernel::image_digest() const noexcept {
  digest made;
  std::memcpy(made.bytes.data(), digest_.data(), made.bytes.size());
  return made;
}

result<void> kernel::validate() const {
  argument_checks check;
  constexpr std::size_t digest_words = digest::size / sizeof(std::int64_t);
  check.rule(
      !name_.empty() && !image_.null() && digest_.size() == digest_words, errc::invalid_argument,
      [] {
        return std::string("kernel is of no module: loaded_module::kernel makes one that is");
      });
  check.packed_vector({"image", image_}).type({"image", image_}, {dtype::u8});
  check.rule(image_.space() == memory_space::host, errc::invalid_argument, [] {
    return std::string("image lies in device memory, workers read it from the host's");
  });
  check.rule(name_.find('\0') == std::string::npos, errc::invalid_argument,
             [] { return std::string("the kernel's name has a NUL in it"); });
  return check.verdict();
}

result<void> kernel::check(const arguments& given) const {
  return signature_ ? signature_->check(given) : result<void>();
}

result<jit::kernel> loaded_module::kernel(std::string_view name) const {
  const auto lowered = std::ranges::find(names_, name, &lowered_name::expression);
  jit::kernel made;
  made.name_ = lowered != names_.end() ? lowered->lowered : std::string(name);
  // An expression that the image was not compiled with would be looked for in vain.
  constexpr std::string_view of_names =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";
  if (made.name_.empty() || made.name_.find_first_not_of(of_names) != std::string::npos) {
    std::string known;
    for (const lowered_name& one : names_)
      known += (known.empty() ? "" : ", ") + one.expression;
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("\"{}\" is no name in an image, nor an expression that "
                                        "this one was compiled with: {}",
                                        name, known.empty() ? "there are none" : known)};
  }
  made.digest_.resize(digest_.bytes.size() / sizeof(std::int64_t));
  std::memcpy(made.digest_.data(), digest_.bytes.data(), digest_.bytes.size());
  made.image_ = image_;
  if (auto known = signature::of(made.name_)) {
    made.signature_ = std::make_shared<const signature>(*std::move(known));
  }
  return made;
}

}  // namespace troupe::jit

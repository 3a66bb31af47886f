#include "libraries/jit/requests/signature.hpp"

#include <troupe/jit/kernel.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace troupe::jit {
namespace {

constexpr std::size_t digest_words = digest::size / sizeof(std::int64_t);

argument_checks& is_text(argument_checks& check, std::string_view name) {
  return check.rule(name.find('\0') == std::string_view::npos, errc::invalid_argument,
                    [] { return std::string("the kernel's name has a NUL in it"); });
}

}  // namespace

void kernel::describe(description<kernel>& d) {
  const extent bytes = d.size("bytes");
  d.value("name", &kernel::name_, "of its entry in the image").at_least(1);
  d.value("digest", &kernel::digest_, "the image's SHA-256").range(digest_words, digest_words);
  d.reads("image", &kernel::image_, {bytes}, "cubin, PTX or fatbin").in_host_memory();
  d.layouts(layout::packed, {&kernel::image_});
  d.same_type({&kernel::image_}, {dtype::u8});
  d.rule("the name has no NUL in it",
         [](argument_checks& check, const kernel& k) { is_text(check, k.name_); });
}

digest kernel::image_digest() const noexcept {
  digest made;
  std::memcpy(made.bytes.data(), digest_.data(), made.bytes.size());
  return made;
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

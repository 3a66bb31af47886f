#include "libraries/jit/requests/signature.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

namespace troupe::jit {
namespace {

struct freed {
  void operator()(char* text) const noexcept { std::free(text); }
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

bool opens(char c) noexcept { return c == '(' || c == '<' || c == '['; }
bool closes(char c) noexcept { return c == ')' || c == '>' || c == ']'; }

// The position of the parenthesis that the last one of `text` closes.
std::size_t opening_of_last(std::string_view text) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (closes(text[i])) ++depth;
    if (opens(text[i]) && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (opens(c)) ++depth;
    if (closes(c)) --depth;
    if (c != ',' || (depth != 0 && i < list.size())) continue;
    if (const auto part = trimmed(list.substr(begin, i - begin)); !part.empty()) {
      parts.push_back(part);
    }
    begin = i + 1;
  }
  return parts;
}

// CUDA's vector types are no element types: a kernel reads floats as float4, too.
constexpr std::array<std::pair<std::string_view, dtype>, 20> known_types{{
    {"double", dtype::f64},
    {"float", dtype::f32},
    {"__half", dtype::f16},
    {"__nv_bfloat16", dtype::bf16},
    {"__nv_fp8_e4m3", dtype::e4m3},
    {"__nv_fp8_e5m2", dtype::e5m2},
    {"signed char", dtype::i8},
    {"unsigned char", dtype::u8},
    {"short", dtype::i16},
    {"unsigned short", dtype::u16},
    {"int", dtype::i32},
    {"unsigned int", dtype::u32},
    {"long", dtype::i64},
    {"long long", dtype::i64},
    {"unsigned long", dtype::u64},
    {"unsigned long long", dtype::u64},
    {"bool", dtype::boolean},
    {"char", dtype::i8},
    {"cuda::std::complex<float>", dtype::c64},
    {"cuda::std::complex<double>", dtype::c128},
}};

// The library's namespaces have a version within: cuda::std::__4::complex<float>.
std::string without_version(std::string_view name) {
  constexpr std::string_view library = "cuda::std::__";
  if (!name.starts_with(library)) return std::string(name);
  const std::size_t end = name.find("::", library.size());
  if (end == std::string_view::npos) return std::string(name);
  return "cuda::std" + std::string(name.substr(end));
}

signature::parameter parameter_of(std::string_view text) {
  signature::parameter p{.text = std::string(text)};
  std::string_view type = text;
  if (type.ends_with("__restrict") || type.ends_with("__restrict__")) {
    type = trimmed(type.substr(0, type.rfind("__restrict")));
  }
  if (type.ends_with('*')) {
    p.pointer = true;
    type = trimmed(type.substr(0, type.size() - 1));
    constexpr std::string_view last = " const";
    p.to_const = type.ends_with(last);
    if (p.to_const) type = trimmed(type.substr(0, type.size() - last.size()));
  }
  const std::string name = without_version(type);
  for (const auto& [known, is] : known_types) {
    if (name == known) p.type = is;
  }
  p.any_byte = name == "char";
  p.map = !p.pointer && name.starts_with("CUtensorMap");
  return p;
}

bool fits(const signature::parameter& p, dtype given) noexcept {
  return !p.type || *p.type == given || (p.any_byte && given == dtype::u8);
}

// Why an argument is not one for the parameter, if so.
std::string_view mismatch(const signature::parameter& p, const arguments::view& given) {
  const bool number = !p.pointer && p.type.has_value();
  switch (given.what) {
    case argument::kind::scalar:
      if (p.pointer || p.map) return "which takes no number";
      if (!fits(p, given.type)) return "which is another type";
      return {};
    case argument::kind::tensor:
      if (number || p.map) return "which takes no address";
      if (!fits(p, given.type)) return "which points to another type";
      if (p.to_const && given.role != access::read) return "which is only read";
      return {};
    case argument::kind::tile:
      if (number || p.pointer) return "which takes no tensor map";
      return {};
    case argument::kind::bytes:
    case argument::kind::reached:
      return {};
  }
  return {};
}

}  // namespace

std::optional<signature> signature::of(const std::string& mangled) {
  if (!mangled.starts_with("_Z")) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, freed> demangled(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status));
  if (status != 0 || !demangled) return std::nullopt;
  const std::string_view all = demangled.get();
  if (!all.ends_with(')')) return std::nullopt;
  const std::size_t begin = opening_of_last(all);
  if (begin == std::string_view::npos) return std::nullopt;
  signature made;
  // Instantiations begin with their return type.
  std::string_view name = all.substr(0, begin);
  if (name.starts_with("void ")) name.remove_prefix(5);
  made.name_ = trimmed(name);
  for (const std::string_view part : split(all.substr(begin + 1, all.size() - begin - 2)))
    made.parameters_.push_back(parameter_of(part));
  return made;
}

result<void> signature::check(const arguments& given) const {
  std::size_t count = 0;
  std::string wrong;
  given.for_each([&](const arguments::view& one) {
    if (one.what == argument::kind::reached) return;
    const std::size_t i = count++;
    if (i >= parameters_.size() || !wrong.empty()) return;
    const std::string_view why = mismatch(parameters_[i], one);
    if (why.empty()) return;
    wrong = fmt::format("parameter {} of {} is {}, {}: it is given {}", i, name_,
                        parameters_[i].text, why, one.to_string());
  });
  if (count != parameters_.size()) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("{} takes {} arguments, {} are given", name_,
                                        parameters_.size(), count)};
  }
  if (!wrong.empty()) return error{.code = errc::type_mismatch, .message = std::move(wrong)};
  return {};
}

}  // namespace troupe::jit

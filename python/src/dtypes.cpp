#include "dtypes.hpp"

#include "arguments/given.hpp"
#include "binding.hpp"

#include <array>
#include <string>
#include <vector>

namespace troupe::python {
namespace {

struct type_names {
  dtype type;
  std::string_view numpy;
  std::string_view typed;  ///< NumPy's kind and bytes; empty for types it lacks
  const char* format;
  nb::dlpack::dtype_code code;
};

using enum nb::dlpack::dtype_code;
// dlpack.h names these since version 1.1; nanobind has no names for them.
constexpr auto float8_e4m3fn = static_cast<nb::dlpack::dtype_code>(10);
constexpr auto float8_e5m2 = static_cast<nb::dlpack::dtype_code>(12);

// In the order of `dtype`.
constexpr std::array<type_names, dtype_count> all_types{{
    {dtype::f64, "float64", "f8", "d", Float},
    {dtype::f32, "float32", "f4", "f", Float},
    {dtype::f16, "float16", "f2", "e", Float},
    {dtype::bf16, "bfloat16", "", "H", Bfloat},
    {dtype::e4m3, "float8_e4m3fn", "", "B", float8_e4m3fn},
    {dtype::e5m2, "float8_e5m2", "", "B", float8_e5m2},
    {dtype::c64, "complex64", "c8", "Zf", Complex},
    {dtype::c128, "complex128", "c16", "Zd", Complex},
    {dtype::i8, "int8", "i1", "b", Int},
    {dtype::u8, "uint8", "u1", "B", UInt},
    {dtype::i16, "int16", "i2", "h", Int},
    {dtype::u16, "uint16", "u2", "H", UInt},
    {dtype::i32, "int32", "i4", "i", Int},
    {dtype::u32, "uint32", "u4", "I", UInt},
    {dtype::i64, "int64", "i8", "q", Int},
    {dtype::u64, "uint64", "u8", "Q", UInt},
    {dtype::boolean, "bool", "?", "?", Bool},
}};

const type_names& names_of(dtype type) noexcept {
  return all_types[static_cast<std::size_t>(type)];
}

std::optional<dtype> named(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  if (!name.empty() && (name.front() == '<' || name.front() == '=' || name.front() == '|')) {
    name.remove_prefix(1);
  }
  // Troupe's own names first: "i8" and "u8" are bytes, as in C++, where NumPy means 64 bits.
  for (const type_names& one : all_types) {
    if (name == to_string(one.type)) return one.type;
  }
  for (const type_names& one : all_types) {
    if (name == one.numpy || (!one.typed.empty() && name == one.typed)) return one.type;
  }
  return std::nullopt;
}

}  // namespace

dtype dtype_from(nb::handle type) {
  std::string name;
  if (nb::isinstance<nb::str>(type)) {
    name = shown_text(type);
  } else if (nb::hasattr(type, "name") && nb::isinstance<nb::str>(type.attr("name"))) {
    name = shown_text(type.attr("name"));  // numpy.dtype
  } else if (nb::hasattr(type, "__name__")) {
    name = shown_text(type.attr("__name__"));  // numpy.float32, ml_dtypes.bfloat16
  } else {
    name = shown_text(type);  // torch.float32
  }
  // Python's own.
  if (type.is(reinterpret_cast<PyObject*>(&PyFloat_Type))) return dtype::f64;
  if (type.is(reinterpret_cast<PyObject*>(&PyLong_Type))) return dtype::i64;
  if (type.is(reinterpret_cast<PyObject*>(&PyComplex_Type))) return dtype::c128;
  if (const auto found = named(name)) return *found;
  std::string message = "no element type is called '" + name + "'; there are ";
  std::vector<std::string> known;
  for (const type_names& one : all_types) {
    message += std::string(one.type == dtype::f64 ? "" : ", ") + std::string(to_string(one.type));
    known.insert(known.end(), {std::string(to_string(one.type)), std::string(one.numpy)});
  }
  throw nb::type_error((message + did_you_mean(nb::str(name.data(), name.size()), known)).c_str());
}

std::string_view numpy_name(dtype type) noexcept { return names_of(type).numpy; }

nb::dlpack::dtype dlpack_of(dtype type) noexcept {
  return {static_cast<std::uint8_t>(names_of(type).code),
          static_cast<std::uint8_t>(size_of(type) * 8), 1};
}

const char* buffer_format(dtype type) noexcept { return names_of(type).format; }

}  // namespace troupe::python

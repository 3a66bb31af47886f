#include <troupe/tensor/dtype.hpp>

namespace troupe {

std::string_view to_string(dtype type) noexcept {
  switch (type) {
    case dtype::f64:
      return "f64";
    case dtype::f32:
      return "f32";
    case dtype::f16:
      return "f16";
    case dtype::bf16:
      return "bf16";
    case dtype::e4m3:
      return "e4m3";
    case dtype::e5m2:
      return "e5m2";
    case dtype::c64:
      return "c64";
    case dtype::c128:
      return "c128";
    case dtype::i8:
      return "i8";
    case dtype::u8:
      return "u8";
    case dtype::i16:
      return "i16";
    case dtype::u16:
      return "u16";
    case dtype::i32:
      return "i32";
    case dtype::u32:
      return "u32";
    case dtype::i64:
      return "i64";
    case dtype::u64:
      return "u64";
    case dtype::boolean:
      return "bool";
  }
  return "unknown";
}

}  // namespace troupe

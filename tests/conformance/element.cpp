#include "element.hpp"

#include <cstring>
#include <limits>

namespace troupe::conformance {
namespace {

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
template <class T>
T get(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

void store(dtype type, std::byte* at, number value) {
  const double real = value.real();
  switch (type) {
    case dtype::f64:
      return put(at, real);
    case dtype::f32:
      return put(at, static_cast<float>(real));
    case dtype::f16:
      return put(at, f16(static_cast<float>(real)));
    case dtype::bf16:
      return put(at, bf16(static_cast<float>(real)));
    case dtype::e4m3:
      return put(at, e4m3(static_cast<float>(real)));
    case dtype::e5m2:
      return put(at, e5m2(static_cast<float>(real)));
    case dtype::c64:
      return put(at, std::complex<float>(value));
    case dtype::c128:
      return put(at, value);
    case dtype::i8:
      return put(at, static_cast<std::int8_t>(real));
    case dtype::u8:
      return put(at, static_cast<std::uint8_t>(static_cast<std::int64_t>(real)));
    case dtype::i16:
      return put(at, static_cast<std::int16_t>(real));
    case dtype::u16:
      return put(at, static_cast<std::uint16_t>(static_cast<std::int64_t>(real)));
    case dtype::i32:
      return put(at, static_cast<std::int32_t>(real));
    case dtype::u32:
      return put(at, static_cast<std::uint32_t>(static_cast<std::int64_t>(real)));
    case dtype::i64:
      return put(at, static_cast<std::int64_t>(real));
    case dtype::u64:
      return put(at, real < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(real))
                              : static_cast<std::uint64_t>(real));
    case dtype::boolean:
      return put(at, static_cast<std::uint8_t>(real != 0));
  }
}

number load(dtype type, const std::byte* at) {
  switch (type) {
    case dtype::f64:
      return get<double>(at);
    case dtype::f32:
      return get<float>(at);
    case dtype::f16:
      return static_cast<float>(get<f16>(at));
    case dtype::bf16:
      return static_cast<float>(get<bf16>(at));
    case dtype::e4m3:
      return static_cast<float>(get<e4m3>(at));
    case dtype::e5m2:
      return static_cast<float>(get<e5m2>(at));
    case dtype::c64:
      return get<std::complex<float>>(at);
    case dtype::c128:
      return get<number>(at);
    case dtype::i8:
      return get<std::int8_t>(at);
    case dtype::u8:
    case dtype::boolean:
      return get<std::uint8_t>(at);
    case dtype::i16:
      return get<std::int16_t>(at);
    case dtype::u16:
      return get<std::uint16_t>(at);
    case dtype::i32:
      return get<std::int32_t>(at);
    case dtype::u32:
      return get<std::uint32_t>(at);
    case dtype::i64:
      return static_cast<double>(get<std::int64_t>(at));
    case dtype::u64:
      return static_cast<double>(get<std::uint64_t>(at));
  }
  return {};
}

double epsilon(dtype type) {
  switch (type) {
    case dtype::f64:
    case dtype::c128:
      return std::numeric_limits<double>::epsilon();
    case dtype::f32:
    case dtype::c64:
      return std::numeric_limits<float>::epsilon();
    case dtype::f16:
      return 0x1p-10;
    case dtype::bf16:
      return 0x1p-7;
    case dtype::e4m3:
      return 0x1p-3;
    case dtype::e5m2:
      return 0x1p-2;
    default:
      return 0;
  }
}

double smallest(dtype type) {
  switch (type) {
    case dtype::f64:
    case dtype::c128:
      return 0x1p-1022;
    case dtype::f32:
    case dtype::c64:
    case dtype::bf16:
      return 0x1p-126;
    case dtype::f16:
      return 0x1p-24;
    case dtype::e4m3:
      return 0x1p-9;
    case dtype::e5m2:
      return 0x1p-16;
    default:
      return 0;
  }
}

}  // namespace troupe::conformance

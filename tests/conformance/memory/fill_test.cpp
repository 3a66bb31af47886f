#include "conformance/scene.hpp"

#include <troupe/memory/fill.hpp>

#include <algorithm>
#include <limits>

namespace troupe::conformance {
namespace {

const scene::extents shapes[] = {{}, {0}, {1}, {33}, {5, 3}, {2, 3, 4}, {6, 800}};

std::vector<number> all(const test_tensor& t, number value) {
  return std::vector<number>(static_cast<std::size_t>(t.view.count()), value);
}

scene::extents strides_of(const scene::extents& size, std::int64_t gap) {
  scene::extents strides(size.size());
  std::int64_t step = 1 + gap;
  for (std::size_t i = size.size(); i-- > 0;) {
    strides[i] = step;
    step = step * std::max<std::int64_t>(size[i], 1) + gap;
  }
  return strides;
}

TEST(MemoryFill, SetsEveryElementOfEveryType) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    for (const auto& size : shapes) {
      for (const std::int64_t gap : {0, 2}) {
        for (const int value : {0, 1, 3}) {
          scene s;
          s.name(std::string(to_string(type)));
          auto& to = s.tensor(type, size, strides_of(size, gap));
          s.run(memory::fill{.to = to.view, .value = value});
          EXPECT_EQ(s.elements_now(to), all(to, type == dtype::boolean ? value != 0 : value))
              << s.note();
        }
      }
    }
  }
}

TEST(MemoryFill, KeepsEveryBitOfWideAndComplexValues) {
  scene s;
  auto& c = s.vector(dtype::c128, 3);
  s.run(memory::fill{.to = c.view, .value = number(0.1, -0.2)});
  EXPECT_EQ(s.elements_now(c), all(c, {0.1, -0.2}));

  scene wide;
  auto& from = wide.vector(dtype::u64, 2);
  wide.run(memory::fill{.to = from.view, .value = std::numeric_limits<std::uint64_t>::max()});
  EXPECT_EQ(wide.bytes_now(from), std::vector<std::byte>(16, std::byte{0xFF}));
  wide.run(memory::fill{.to = from.view, .value = (std::uint64_t{1} << 63) + 1});
  EXPECT_EQ(wide.bytes_now(from)[0], std::byte{1});  // f64 would have lost this bit
}

TEST(MemoryFill, SetBytesSetsTheBytesOfElementsOnly) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    for (const auto& size : shapes) {
      for (const std::int64_t gap : {0, 2}) {
        scene s;
        auto& to = s.tensor(type, size, strides_of(size, gap));
        const std::int64_t byte = type == dtype::boolean ? 1 : 0xA7;
        s.run(memory::set_bytes{.to = to.view, .byte = byte});
        EXPECT_EQ(s.bytes_now(to),
                  std::vector<std::byte>(static_cast<std::size_t>(to.view.count() * size_of(type)),
                                         static_cast<std::byte>(byte)));
      }
    }
  }
}

TEST(MemoryFill, RefusesWhatItCannotDo) {
  scene s;
  const auto vector = [&](dtype type) { return s.vector(type, 4).view; };
  s.refuse(memory::fill{.to = vector(dtype::i8), .value = 128}, errc::invalid_argument,
           "value is 128, which i8 cannot hold");
  s.refuse(memory::fill{.to = vector(dtype::u16), .value = -1}, errc::invalid_argument, "u16");
  s.refuse(memory::fill{.to = vector(dtype::i32), .value = 0.5}, errc::invalid_argument, "i32");
  s.refuse(memory::fill{.to = vector(dtype::i64), .value = 0x1p63}, errc::invalid_argument, "i64");
  s.refuse(
      memory::fill{.to = vector(dtype::u64), .value = std::numeric_limits<double>::quiet_NaN()},
      errc::invalid_argument, "u64");
  s.refuse(memory::fill{.to = vector(dtype::f32), .value = number(1, 1)}, errc::invalid_argument,
           "value must be real because to is f32; it is 1+1i");
  s.refuse(memory::set_bytes{.to = vector(dtype::f32), .byte = 256}, errc::invalid_argument,
           "byte is 256, it must be 0 to 255");
  s.refuse(memory::set_bytes{.to = vector(dtype::boolean), .byte = 2}, errc::invalid_argument,
           "byte is 2, it must be 0 or 1 where to is bool");
}

}  // namespace
}  // namespace troupe::conformance

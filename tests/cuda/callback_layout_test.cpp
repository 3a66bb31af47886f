// Which transforms cuFFT is given with their functions, and where it finds room.
#include "libraries/fft/cuda/callback_layout.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace troupe::cuda {
namespace {

const auto same = elementwise::function::of(1, [](auto x) { return x[0]; });

any_tensor at(std::uintptr_t address, dtype type, std::initializer_list<std::int64_t> extents,
              std::vector<std::int64_t> strides = {}) {
  return any_tensor::unowned(reinterpret_cast<std::byte*>(address),  // NOLINT
                             type, shape(extents), strides);
}

template <class R>
result<callback_layout> layout_of(const R& r) {
  return callback_layout::of(fft::transform_of(r), fft::request_fields::of(r));
}

TEST(CallbackLayout, StoresWhereTheResultsGoIfTheyAreTheTransforms) {
  const auto made = layout_of(fft::c2c{
      .in = at(4096, dtype::c64, {4, 8}), .out = at(8192, dtype::c64, {4, 8}), .store = same});
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->room_in || made->room_out || made->copy_in || made->copy_out);
  EXPECT_EQ(made->layout.batch, 4);
  EXPECT_EQ(made->layout.out.distance, 8);
}

TEST(CallbackLayout, HasRoomForNumbersOfOtherTypesAndPlaces) {
  // cuFFT writes complex numbers on the way, which results of 4 bytes have no room for.
  for (const any_tensor& out :
       {at(8192, dtype::f32, {4, 8}), at(8192, dtype::c64, {4, 8}, {10, 1}),
        at(8192, dtype::c64, {4, 8}, {1, 4}), at(8192 + 4, dtype::c64, {4, 8})}) {
    const auto made =
        layout_of(fft::c2c{.in = at(4096, dtype::c64, {4, 8}), .out = out, .store = same});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->room_out);
    EXPECT_FALSE(made->copy_out || made->room_in);
    EXPECT_EQ(made->out.type(), dtype::c64);
    EXPECT_TRUE(made->out.packed());
  }
}

TEST(CallbackLayout, LoadsFromNowhereUnlessInputIsOverwritten) {
  const auto apart = layout_of(fft::r2c{
      .in = at(4096 + 2, dtype::i16, {4, 8}), .out = at(8192, dtype::c64, {4, 5}), .load = same});
  ASSERT_TRUE(apart);
  EXPECT_FALSE(apart->room_in || apart->copy_in);
  const auto overwritten = layout_of(fft::c2r{
      .in = at(4096, dtype::c64, {4, 5}), .out = at(8192, dtype::f32, {4, 8}), .load = same});
  ASSERT_TRUE(overwritten);
  EXPECT_TRUE(overwritten->room_in);
  EXPECT_FALSE(overwritten->copy_in);
}

TEST(CallbackLayout, CopiesASideWithoutFunctionAsPassesDo) {
  // c2r loses its input.
  const auto lost = layout_of(fft::c2r{
      .in = at(4096, dtype::c64, {4, 5}), .out = at(8192, dtype::f32, {4, 8}), .store = same});
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->copy_in && lost->room_in);
  // Real numbers that begin where no complex one can.
  const auto odd = layout_of(fft::r2c{
      .in = at(4096 + 4, dtype::f32, {4, 8}), .out = at(8192, dtype::c64, {4, 5}), .store = same});
  ASSERT_TRUE(odd);
  EXPECT_TRUE(odd->copy_in);
  // Two dimensions of a batch that are no single one: several calls, or a copy.
  const auto calls = layout_of(fft::c2c{.in = at(4096, dtype::c64, {3, 4, 8}, {64, 10, 1}),
                                        .out = at(8192, dtype::c64, {3, 4, 8}),
                                        .store = same});
  ASSERT_TRUE(calls);
  EXPECT_TRUE(calls->copy_in);
  EXPECT_EQ(calls->layout.outer_rank, 0);
  EXPECT_EQ(calls->layout.batch, 12);
}

TEST(CallbackLayout, IsInPlaceWhereTheRequestIs) {
  const any_tensor x = at(4096, dtype::c64, {4, 8}, {16, 2});
  const auto made = layout_of(
      fft::c2c{.in = x, .out = x, .load = same, .store = same, .precision = fft::precision::f32});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->in_place);
  EXPECT_FALSE(made->room_in || made->room_out);
  EXPECT_EQ(made->layout.in.stride, 2);
  const any_tensor complex = at(4096, dtype::c64, {4, 4});
  const auto rows =
      layout_of(fft::r2c{.in = fft::real_rows(complex, 7).value(), .out = complex, .load = same});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->layout.in.distance, 8);
}

TEST(CallbackLayout, TakesRealMatricesInPlace) {
  for (const auto& extents : {std::vector<std::int64_t>{4, 4}, {3, 5, 4}, {3, 1025}}) {
    const any_tensor complex = any_tensor::unowned(reinterpret_cast<std::byte*>(4096),  // NOLINT
                                                   dtype::c128, shape(std::span(extents)));
    const std::int64_t rank = extents.back() > 1000 ? 1 : 2;
    for (const std::int64_t n : {2 * (extents.back() - 1), 2 * extents.back() - 1}) {
      const any_tensor real = fft::real_rows(complex, n).value();
      EXPECT_TRUE(layout_of(fft::r2c{.in = real, .out = complex, .rank = rank, .store = same}));
      EXPECT_TRUE(layout_of(fft::c2r{.in = complex, .out = real, .rank = rank, .load = same}));
    }
  }
}

TEST(CallbackLayout, IsRefusedInPlaceInSeveralCalls) {
  const any_tensor x = at(4096, dtype::c64, {3, 4, 8}, {64, 10, 1});
  const auto made = layout_of(fft::c2c{.in = x, .out = x, .load = same});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::unsupported);
  EXPECT_EQ(made.error().message, "cuFFT does not transform it in place in one call");
}

}  // namespace
}  // namespace troupe::cuda

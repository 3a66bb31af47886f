#include "unit/wire/every_field.hpp"
#include "wire/codec.hpp"

#include <troupe/jit/attributes.hpp>
#include <troupe/jit/launch.hpp>
#include <troupe/request/fields.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace troupe::jit {
namespace {

using testing_wire::three_pools;

/// Gives a launch a kernel without a device: by its fields, as they would arrive.
void give_kernel(launch& r, const any_tensor& image) {
  for (const field_view& f : fields_of(request_type_of<launch>())) {
    if (f.name == "kernel.name") f.in<std::string>(&r) = "k";
    if (f.name == "kernel.digest") f.in<std::vector<std::int64_t>>(&r) = {1, 2, 3, 4};
    if (f.name == "kernel.image") f.in<any_tensor>(&r) = image;
  }
}

class JitArguments : public testing::Test {
 protected:
  launch valid(arguments given = {}) {
    launch r{.grid = {.x = 2}, .block = {.x = 32}, .arguments = std::move(given)};
    std::byte* const image = spaces_.host_tensor(1024, dtype::u8, {}).address();
    give_kernel(r, any_tensor::unowned(image, dtype::u8, {100}, {}, memory_space::host));
    return r;
  }
  static void expect_refused(const launch& r, errc code, std::string_view words) {
    const auto verdict = validate(r);
    ASSERT_FALSE(verdict) << words;
    EXPECT_EQ(verdict.error().code, code) << verdict.error().message;
    EXPECT_NE(verdict.error().message.find(words), std::string::npos) << verdict.error().message;
  }

  three_pools spaces_;
};

struct pair_of_numbers {
  double first;
  float second;
};

TEST_F(JitArguments, TravelAsTheyAre) {
  const auto a = spaces_.tensor(0, dtype::f32, {4, 8});
  const auto b = spaces_.tensor(512, dtype::f64, {3});
  launch sent = valid({reads(a), 7, std::int64_t{-1}, value(pair_of_numbers{1.5, 2.5F}), updates(b),
                       also_writes(spaces_.tensor(256, dtype::i8, {5})),
                       reads_tile(a, {.box = {2, 8}, .outside = tile::fill::nan}), true});
  sent.cluster = {.x = 2};
  sent.shared_bytes = 100'000;
  sent.programmatic = true;
  ASSERT_TRUE(validate(sent)) << validate(sent).error().message;

  const request_type& type = request_type_of<launch>();
  std::vector<std::byte> room(4096);
  const auto bytes = wire::encode(type, &sent, room, spaces_).value();
  launch received;
  std::vector<wire::operand> operands;
  auto decoded =
      wire::decode(type, &received, std::span(room).first(bytes), spaces_.ranges(), operands);
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_TRUE(validate(received)) << validate(received).error().message;
  EXPECT_EQ(received.kernel.name(), "k");
  EXPECT_EQ(received.kernel.image_digest(), sent.kernel.image_digest());
  EXPECT_EQ(received.cluster, sent.cluster);
  EXPECT_EQ(received.shared_bytes, 100'000);
  EXPECT_TRUE(received.programmatic);

  std::vector<arguments::view> seen;
  received.arguments.for_each([&](const arguments::view& one) { seen.push_back(one); });
  ASSERT_EQ(seen.size(), 8u);
  EXPECT_EQ(seen[0].tensor->address(), a.address());
  EXPECT_EQ(seen[0].parameter_bytes(), sizeof(void*));
  EXPECT_EQ(seen[1].type, dtype::i32);
  EXPECT_EQ(*reinterpret_cast<const std::int32_t*>(seen[1].value.data()), 7);
  EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(seen[2].value.data()), -1);
  ASSERT_EQ(seen[3].value.size(), sizeof(pair_of_numbers));
  EXPECT_EQ(reinterpret_cast<const pair_of_numbers*>(seen[3].value.data())->second, 2.5F);
  EXPECT_EQ(seen[4].role, access::update);
  EXPECT_EQ(seen[5].parameter_bytes(), 0u);
  EXPECT_EQ(seen[6].parameter_bytes(), 128u);
  const auto how = tile::read(seen[6].tile);
  ASSERT_TRUE(how);
  EXPECT_EQ(how->box, (std::vector<std::int64_t>{2, 8}));
  EXPECT_EQ(how->steps, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(how->outside, tile::fill::nan);
  EXPECT_EQ(seen[7].parameter_bytes(), 1u);

  // The image, and then what the arguments say, by role.
  ASSERT_EQ(operands.size(), 5u);
  EXPECT_EQ(operands[0].role, access::read);
  EXPECT_EQ(operands[0].pool, wire::host_pool);
  EXPECT_EQ(operands[1].role, access::read);
  EXPECT_EQ(operands[2].role, access::read);
  EXPECT_EQ(operands[3].role, access::write);
  EXPECT_EQ(operands[4].role, access::update);
}

TEST_F(JitArguments, OfAVectorAdditionFitASlot) {
  launch r = valid({reads(spaces_.tensor(0, dtype::f32, {10})),
                    reads(spaces_.tensor(64, dtype::f32, {10})),
                    writes(spaces_.tensor(128, dtype::f32, {10})), 10});
  std::vector<std::byte> room(4096);
  EXPECT_LE(wire::encode(request_type_of<launch>(), &r, room, spaces_).value(), 456u);
}

TEST_F(JitArguments, AreRefusedByName) {
  const auto t = spaces_.tensor(0, dtype::f32, {4, 8});
  expect_refused(valid({reads(t), updates(any_tensor())}), errc::invalid_argument,
                 "arguments.updates[0] is not given");
  const std::vector<std::int64_t> same{0, 1};
  expect_refused(valid({writes(spaces_.tensor(0, dtype::f32, {4, 8}, same))}), errc::aliasing,
                 "arguments.writes[0] is written");
  const std::vector<std::byte> large(40'000);
  expect_refused(valid({bytes(large)}), errc::size_overflow, "40000 bytes");
  expect_refused(valid({bytes({})}), errc::invalid_argument, "a struct without bytes");
  arguments many;
  for (int i = 0; i < 5000; ++i)
    many.add(also_reads(t));
  expect_refused(valid(std::move(many)), errc::invalid_argument,
                 "arguments.codes is [5000 numbers], it must be 0 to 4096");
}

TEST_F(JitArguments, ALaunchIsRefusedThatCannotBe) {
  const auto with = [&](auto&& change) {
    launch r = valid();
    change(r);
    return r;
  };
  expect_refused(launch{}, errc::invalid_argument, "kernel.image is not given");
  expect_refused(with([](launch& r) { r.grid = {.x = 0}; }), errc::invalid_argument,
                 "grid.x is 0, it must be at least 1");
  expect_refused(with([](launch& r) { r.grid.y = 65'536; }), errc::invalid_argument, "65536");
  expect_refused(with([](launch& r) { r.block = {.x = 1024, .y = 2}; }), errc::invalid_argument,
                 "block is 1024 x 2 x 1");
  expect_refused(with([](launch& r) { r.block = {.z = 65}; }), errc::invalid_argument, "65");
  expect_refused(with([](launch& r) { r.shared_bytes = -1; }), errc::invalid_argument,
                 "shared_bytes is -1");
  expect_refused(with([](launch& r) { r.cluster = {.x = 17}; }), errc::invalid_argument,
                 "cluster is 17 x 1 x 1");
  expect_refused(with([](launch& r) { r.cluster = {.x = 0}; }), errc::invalid_argument,
                 "cluster.x is 0, it must be at least 1");
  expect_refused(with([](launch& r) { r.cluster = {.x = 4}; }), errc::invalid_argument,
                 "grid 2 x 1 x 1 is no multiple of cluster 4 x 1 x 1");
  expect_refused(with([](launch& r) { r.cooperative = r.programmatic = true; }),
                 errc::invalid_argument, "cooperative");
  launch r = valid();
  give_kernel(r, spaces_.tensor(0, dtype::u8, {100}));
  expect_refused(r, errc::invalid_argument, "image must be a host_tensor; it is in device memory");
}

TEST_F(JitArguments, ATileIsRefusedThatNoTensorMapDescribes) {
  const auto t = spaces_.tensor(0, dtype::f32, {4, 8});
  const auto refused = [&](const any_tensor& of, const tile& how, errc code,
                           std::string_view words) {
    expect_refused(valid({1, reads_tile(of, how)}), code, words);
    expect_refused(valid({1, reads_tile(of, how)}), code, "argument 1: ");
  };
  EXPECT_TRUE(validate(valid({reads_tile(t, {.box = {4, 8}, .steps = {2, 1}})})));
  refused(t, {.box = {8}}, errc::shape_mismatch, "2 dimensions, box 1");
  refused(t, {.box = {4, 0}}, errc::invalid_argument, "box[1] is 0");
  refused(t, {.box = {257, 8}}, errc::invalid_argument, "box[0] is 257");
  refused(t, {.box = {4, 3}}, errc::invalid_argument, "12 bytes");
  refused(t, {.box = {4, 8}, .steps = {9, 1}}, errc::invalid_argument, "steps[0] is 9");
  refused(t, {.box = {4, 8}, .steps = {1}}, errc::invalid_argument, "steps[0] is 0");
  refused(t, {.box = {4, 16}, .in_shared_memory = tile::swizzle::bytes_32}, errc::invalid_argument,
          "64 bytes, more than the swizzle's 32");
  refused(spaces_.tensor(0, dtype::i32, {4, 8}), {.box = {4, 8}, .outside = tile::fill::nan},
          errc::type_mismatch, "i32 has no NaN");
  refused(spaces_.tensor(0, dtype::c128, {4}), {.box = {4}}, errc::type_mismatch, "c128");
  refused(spaces_.tensor(8, dtype::f32, {4, 8}), {.box = {4, 8}}, errc::layout_unsupported,
          "multiple of 16 bytes");
  refused(spaces_.tensor(0, dtype::f32, {4, 7}), {.box = {4, 4}}, errc::layout_unsupported,
          "dimension 0 has stride 7");
  const std::vector<std::int64_t> apart{8, 2};
  refused(spaces_.tensor(0, dtype::f32, {4, 4}, apart), {.box = {4, 4}}, errc::layout_unsupported,
          "the last dimension has stride 2");
  refused(spaces_.tensor(0, dtype::f32, {}), {}, errc::layout_unsupported, "0 dimensions");
}

// Any codes, values and tiles are refused or read within their bounds.
TEST_F(JitArguments, OfBrokenBytesAreRefused) {
  launch sent = valid({reads(spaces_.tensor(0, dtype::f32, {4, 8})), 7,
                       reads_tile(spaces_.tensor(0, dtype::f32, {4, 8}), {.box = {2, 8}})});
  const request_type& type = request_type_of<launch>();
  std::vector<std::byte> room(4096);
  room.resize(wire::encode(type, &sent, room, spaces_).value());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < room.size(); ++at) {
    for (const unsigned change : {0x01u, 0x80u, 0xffu}) {
      auto broken = room;
      broken[at] ^= static_cast<std::byte>(change);
      launch received;
      std::vector<wire::operand> operands;
      if (!wire::decode(type, &received, broken, spaces_.ranges(), operands) ||
          !validate(received)) {
        ++refused;
        continue;
      }
      received.arguments.for_each(
          [](const arguments::view& one) { EXPECT_EQ(one.tensor == nullptr, !one.value.empty()); });
    }
  }
  EXPECT_GT(refused, room.size());
}

}  // namespace
}  // namespace troupe::jit

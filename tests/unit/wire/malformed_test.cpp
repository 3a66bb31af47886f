#include "every_field.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

namespace troupe {
namespace {

using namespace testing_wire;

/// Writes the fields of `every_field` by hand, each as it should be unless a test says otherwise.
struct hand_written {
  struct tensor_bytes {
    std::uint8_t present = 2;  // rank + 1
    std::uint8_t type = static_cast<std::uint8_t>(dtype::f32);
    std::uint8_t pool = 0;
    std::uint32_t buffer = 1;
    std::uint64_t offset = 64;
    std::vector<std::int64_t> extents = {8};
    std::vector<std::int64_t> strides = {1};
  };

  tensor_bytes read{};
  std::uint64_t list_length = 0;
  std::uint8_t scalar_kind = 0;
  std::uint8_t flag = 1;
  std::uint8_t shade = 0;
  std::uint64_t text_length = 0;
  std::uint64_t numbers_length = 0;
  std::uint64_t scalars_length = 0;
  std::size_t surplus = 0;

  [[nodiscard]] std::vector<std::byte> bytes() const {
    std::vector<std::byte> out;
    const auto put = [&](const auto& v) {
      const auto* from = reinterpret_cast<const std::byte*>(&v);
      out.insert(out.end(), from, from + sizeof(v));
    };
    put(read.present);
    put(read.type);
    put(read.pool);
    put(read.buffer);
    put(read.offset);
    for (const std::int64_t e : read.extents)
      put(e);
    for (const std::int64_t s : read.strides)
      put(s);
    for (int null = 0; null < 3; ++null)
      put(std::uint8_t{0});
    put(list_length);
    put(text_length);
    put(numbers_length);
    put(scalars_length);
    std::array<std::uint8_t, sizeof(scalar)> beta{scalar_kind};
    put(beta);
    put(std::int64_t{1});
    put(1.0);
    put(flag);
    put(shade);
    out.resize(out.size() + surplus);
    return out;
  }
};

class WireMalformed : public testing::Test {
 protected:
  /// The error's message; empty when it was taken for good.
  std::string refusal(const hand_written& request) {
    every_field got;
    const std::vector<std::byte> bytes = request.bytes();
    auto decoded =
        wire::decode(request_type_of<every_field>(), &got, bytes, spaces_.ranges(), operands_);
    if (decoded) return {};
    EXPECT_EQ(decoded.error().code, errc::protocol_violation);
    return decoded.error().message;
  }
  std::string refusal_of_tensor(const std::function<void(hand_written::tensor_bytes&)>& spoil) {
    hand_written request;
    spoil(request.read);
    return refusal(request);
  }

  three_pools spaces_;
  std::vector<wire::operand> operands_;
};

TEST_F(WireMalformed, TheHandWrittenRequestIsGoodAsItStands) {
  EXPECT_EQ(refusal(hand_written{}), "");
  ASSERT_EQ(operands_.size(), 1u);
  EXPECT_EQ(operands_[0].end, 64u + 8 * 4);
}

TEST_F(WireMalformed, NamesTheFieldAndTheValueThatCannotBe) {
  EXPECT_EQ(refusal({.list_length = 1'000}), "list: length 1000 with 74 bytes left");
  EXPECT_EQ(refusal({.scalar_kind = 9}), "beta: 9 of 0 to 3");
  EXPECT_EQ(refusal({.flag = 2}), "flag: 2 of 0 to 1");
  EXPECT_EQ(refusal({.shade = 3}), "shade: 3 of 0 to 2");
  EXPECT_EQ(refusal({.text_length = 67}), "text: length 67 with 66 bytes left");
  EXPECT_EQ(refusal({.numbers_length = 8}), "numbers: length 8 with 58 bytes left");
  EXPECT_EQ(refusal({.scalars_length = 2}), "scalars: length 2 with 50 bytes left");
  const std::size_t whole = hand_written{}.bytes().size();
  EXPECT_EQ(refusal({.surplus = 3}),
            std::to_string(whole + 3) + " bytes where the fields take " + std::to_string(whole));
}

TEST_F(WireMalformed, ALengthOfAnythingAllocatesNothing) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t length : {most, most / 8, most / 8 + 1, std::uint64_t{1} << 40}) {
    EXPECT_NE(refusal({.list_length = length}), "");
    EXPECT_NE(refusal({.text_length = length}), "");
    EXPECT_NE(refusal({.numbers_length = length}), "");
    EXPECT_NE(refusal({.scalars_length = length}), "");
  }
}

TEST_F(WireMalformed, AListOfNullTensorsCannotGrowIntoABomb) {
  hand_written request{.list_length = wire::max_list_tensors + 1};
  request.surplus = 10 << 20;
  EXPECT_EQ(refusal(request), "list: 65537 tensors");
}

TEST_F(WireMalformed, TensorsThatCannotBeAreRefusedByName) {
  using tensor = hand_written::tensor_bytes;
  EXPECT_EQ(refusal_of_tensor([](tensor& t) { t.present = 10; }), "read: rank 9");
  EXPECT_EQ(refusal_of_tensor([](tensor& t) { t.present = 255; }), "read: rank 254");
  EXPECT_EQ(refusal_of_tensor([](tensor& t) { t.type = dtype_count; }), "read: element type 17");
  EXPECT_EQ(refusal_of_tensor([](tensor& t) { t.extents[0] = -1; }),
            "read: extent -1 with stride 1");
  EXPECT_EQ(refusal_of_tensor([](tensor& t) { t.strides[0] = -1; }),
            "read: extent 8 with stride -1");
  EXPECT_EQ(refusal_of_tensor([](tensor& t) { t.offset = 66; }),
            "read: offset 66 is no multiple of 4");
}

TEST_F(WireMalformed, APoolThatIsNotThereIsRefusedWhateverItsNumber) {
  for (int pool = 0; pool < 256; ++pool) {
    const bool is_there = pool <= wire::first_peer_pool;
    // Without elements and at the start, no byte lies outside of anything.
    for (const std::int64_t extent : {8, 0}) {
      const std::string refused = refusal_of_tensor([&](hand_written::tensor_bytes& t) {
        t.pool = static_cast<std::uint8_t>(pool);
        t.offset = 0;
        t.extents[0] = extent;
      });
      EXPECT_EQ(refused, is_there ? "" : "read: memory pool " + std::to_string(pool));
    }
  }
}

TEST_F(WireMalformed, AlignmentIsThatOfTheElementAndOfEightAtMost) {
  using tensor = hand_written::tensor_bytes;
  const auto with = [&](dtype type, std::uint64_t offset) {
    return refusal_of_tensor([&](tensor& t) {
      t.type = static_cast<std::uint8_t>(type);
      t.offset = offset;
    });
  };
  EXPECT_EQ(with(dtype::u8, 63), "");
  EXPECT_NE(with(dtype::bf16, 63), "");
  EXPECT_EQ(with(dtype::bf16, 62), "");
  EXPECT_NE(with(dtype::f64, 60), "");
  EXPECT_NE(with(dtype::c128, 60), "");
  EXPECT_EQ(with(dtype::c128, 56), "");
}

TEST_F(WireMalformed, TensorsOutsideTheMappedBytesAreRefused) {
  using tensor = hand_written::tensor_bytes;
  const std::uint64_t end = three_pools::bytes;
  const auto at = [&](std::uint64_t offset, std::int64_t extent, std::int64_t stride) {
    return refusal_of_tensor([&](tensor& t) {
      t.offset = offset;
      t.extents[0] = extent;
      t.strides[0] = stride;
    });
  };
  EXPECT_EQ(at(end - 32, 8, 1), "");
  EXPECT_EQ(at(end - 28, 8, 1), "read: offset 4068 is outside the 4096 mapped bytes");
  EXPECT_EQ(at(end, 0, 1), "");
  EXPECT_NE(at(end + 4, 0, 1), "");
  EXPECT_EQ(at(0, 2, 1'023), "");
  EXPECT_NE(at(0, 2, 1'024), "");
  EXPECT_EQ(at(0, 1, std::int64_t{1} << 50), "") << "a stride that is never taken";
  EXPECT_NE(at(std::numeric_limits<std::uint64_t>::max() - 3, 8, 1), "");
}

TEST_F(WireMalformed, NoProductOfExtentsAndStridesOverflows) {
  using tensor = hand_written::tensor_bytes;
  const std::int64_t large = std::int64_t{1} << 56;
  const auto with = [&](std::vector<std::int64_t> extents, std::vector<std::int64_t> strides) {
    return refusal_of_tensor([&](tensor& t) {
      t.present = static_cast<std::uint8_t>(extents.size() + 1);
      t.extents = std::move(extents);
      t.strides = std::move(strides);
    });
  };
  EXPECT_NE(with({large, large}, {large, large}), "");
  EXPECT_NE(with({large, large, large, large, large, large, large, large},
                 {large, large, large, large, large, large, large, large}),
            "");
  EXPECT_NE(with({large, large}, {0, 0}), "") << "more elements than can be counted";
  EXPECT_NE(with({large, large, 0}, {1, 1, 1}), "") << "counted before the 0 is met";
  EXPECT_NE(with({large + 1}, {0}), "");
  EXPECT_NE(with({0}, {std::numeric_limits<std::int64_t>::max()}), "");
  EXPECT_EQ(with({1000, 1000}, {0, 0}), "") << "a broadcast is fine";
}

TEST_F(WireMalformed, TruncatedAtAnyByteItIsRefused) {
  every_field sent = spaces_.filled();
  const std::vector<std::byte> bytes = encoded(sent, spaces_);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    // A block of its own, so that a sanitizer sees any step beyond it.
    const std::vector<std::byte> cut(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(length));
    every_field got;
    auto decoded =
        wire::decode(request_type_of<every_field>(), &got, cut, spaces_.ranges(), operands_);
    ASSERT_FALSE(decoded) << length;
    ASSERT_EQ(decoded.error().code, errc::protocol_violation) << length;
    ASSERT_NE(decoded.error().message.find(": "), std::string::npos) << "names the field";
  }
}

TEST_F(WireMalformed, SpoiledBytesNeverLeadOutsideTheRanges) {
  every_field sent = spaces_.filled();
  const std::vector<std::byte> good = encoded(sent, spaces_);
  std::mt19937 random(11);
  int taken = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::vector<std::byte> bytes = good;
    for (auto spoiled = random() % 3 + 1; spoiled > 0; --spoiled)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    every_field got;
    if (!wire::decode(request_type_of<every_field>(), &got, bytes, spaces_.ranges(), operands_)) {
      continue;
    }
    ++taken;
    for (const wire::operand& o : operands_) {
      ASSERT_LE(o.begin, o.end);
      ASSERT_LE(o.end, three_pools::bytes);
    }
  }
  EXPECT_GT(taken, 1'000) << "most spoiled numbers are numbers still";
}

}  // namespace
}  // namespace troupe

#include "every_field.hpp"
#include "request/description/text.hpp"

#include <troupe/rng/bits.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <limits>
#include <memory>

namespace troupe {
namespace {

using namespace testing_wire;

class WireCodec : public testing::Test {
 protected:
  result<void> decode(std::span<const std::byte> bytes, every_field& to) {
    return wire::decode(request_type_of<every_field>(), &to, bytes, spaces_.ranges(), operands_);
  }

  three_pools spaces_;
  std::vector<wire::operand> operands_;
};

TEST_F(WireCodec, EveryKindOfFieldComesBackAsItWas) {
  every_field sent = spaces_.filled();
  const std::vector<std::byte> bytes = encoded(sent, spaces_);
  ASSERT_FALSE(bytes.empty());
  every_field got;
  const auto decoded = decode(bytes, got);
  ASSERT_TRUE(decoded) << const_cast<result<void>&>(decoded).error().message;
  EXPECT_TRUE(got.read.same_view(sent.read));
  EXPECT_TRUE(got.written.same_view(sent.written));
  EXPECT_TRUE(got.updated.same_view(sent.updated));
  EXPECT_EQ(got.written.space(), memory_space::device);
  EXPECT_EQ(got.updated.space(), memory_space::host);
  EXPECT_TRUE(got.absent.null());
  ASSERT_EQ(got.list.size(), 3u);
  EXPECT_TRUE(got.list[0].same_view(sent.list[0]));
  EXPECT_TRUE(got.list[1].null());
  EXPECT_TRUE(got.list[2].same_view(sent.list[2]));
  EXPECT_EQ(got.beta, sent.beta);
  EXPECT_EQ(got.integer, sent.integer);
  EXPECT_EQ(got.real, sent.real);
  EXPECT_EQ(got.flag, sent.flag);
  EXPECT_EQ(got.shade, sent.shade);
  EXPECT_EQ(got.text, sent.text);
  EXPECT_EQ(got.numbers, sent.numbers);
  EXPECT_EQ(got.scalars, sent.scalars);
}

TEST_F(WireCodec, ListsTheOperandsWithTheirBytesAndRoles) {
  every_field sent = spaces_.filled();
  const std::vector<std::byte> bytes = encoded(sent, spaces_);
  every_field got;
  ASSERT_TRUE(decode(bytes, got));
  ASSERT_EQ(operands_.size(), 5u) << "null tensors are no operands";
  EXPECT_EQ(operands_[0].role, access::read);
  EXPECT_EQ(operands_[0].buffer, 4u);
  EXPECT_EQ(operands_[0].pool, wire::device_pool);
  EXPECT_EQ(operands_[0].begin, 64u);
  EXPECT_EQ(operands_[0].end, 64u + 6 * 4);
  EXPECT_EQ(operands_[1].role, access::write);
  EXPECT_EQ(operands_[1].end, 256u + (3 * 1 + 1 * 4 + 1) * 16) << "what strides reach";
  EXPECT_EQ(operands_[2].role, access::update);
  EXPECT_EQ(operands_[2].pool, wire::host_pool);
  EXPECT_EQ(operands_[2].end - operands_[2].begin, 1u) << "rank 0 is one element";
  EXPECT_EQ(operands_[3].role, access::read);
  EXPECT_EQ(operands_[4].begin, operands_[4].end) << "no elements, no bytes";
}

TEST_F(WireCodec, ATensorOfAPeerComesBackAtItsAddressThere) {
  for (const wire::pool_number pool :
       {wire::first_peer_pool, static_cast<wire::pool_number>(wire::pool_count - 1)}) {
    spaces_.peer = pool;
    every_field sent;
    sent.read = spaces_.peer_tensor(64, dtype::f32, {2, 3});
    sent.list = {spaces_.tensor(64, dtype::f32, {2, 3})};
    const std::vector<std::byte> bytes = encoded(sent, spaces_);
    every_field got;
    ASSERT_TRUE(decode(bytes, got));
    EXPECT_TRUE(got.read.same_view(sent.read));
    EXPECT_EQ(got.read.space(), memory_space::device) << "a device's, whichever it is";
    ASSERT_EQ(operands_.size(), 2u);
    EXPECT_EQ(operands_[0].pool, pool);
    EXPECT_EQ(operands_[0].begin, operands_[1].begin);
    EXPECT_NE(operands_[0].buffer_key(), operands_[1].buffer_key());
  }
}

TEST_F(WireCodec, ARoleMayDependOnAFieldThatComesLater) {
  every_field sent = spaces_.filled();
  sent.beta = 0;
  const std::vector<std::byte> bytes = encoded(sent, spaces_);
  ASSERT_EQ(spaces_.located[2], std::pair(std::string("updated"), access::write));
  every_field got;
  ASSERT_TRUE(decode(bytes, got));
  EXPECT_EQ(operands_[2].role, access::write);
}

TEST_F(WireCodec, EqualRequestsAreEqualBytes) {
  // Told apart by their bytes, a request that kills workers could not be recognised.
  std::vector<std::byte> first(8192, std::byte{0x00});
  std::vector<std::byte> second(8192, std::byte{0xff});
  every_field a = spaces_.filled();
  every_field b = spaces_.filled();
  const auto used = wire::encode(request_type_of<every_field>(), &a, first, spaces_);
  const auto again = wire::encode(request_type_of<every_field>(), &b, second, spaces_);
  ASSERT_TRUE(used && again);
  first.resize(*used);
  second.resize(*again);
  EXPECT_EQ(first, second);
}

TEST_F(WireCodec, SaysHowMuchRoomTheWholeTakes) {
  every_field sent = spaces_.filled();
  const std::size_t whole = encoded(sent, spaces_).size();
  std::vector<std::byte> guarded(whole + 16, std::byte{0x5a});
  const std::size_t little = whole / 2;
  const auto used = wire::encode(request_type_of<every_field>(), &sent,
                                 std::span(guarded).first(little), spaces_);
  ASSERT_TRUE(used);
  EXPECT_EQ(*used, whole);
  for (std::size_t i = little; i < guarded.size(); ++i)
    ASSERT_EQ(guarded[i], std::byte{0x5a}) << "wrote beyond its room";
}

TEST_F(WireCodec, TheFirstOperandThatIsRefusedIsTheFailure) {
  every_field sent = spaces_.filled();
  spaces_.refused_field = "written";
  std::vector<std::byte> room(8192);
  const auto used = wire::encode(request_type_of<every_field>(), &sent, room, spaces_);
  ASSERT_FALSE(used);
  EXPECT_EQ(const_cast<result<std::size_t>&>(used).error().code, errc::stale_buffer);
  EXPECT_EQ(spaces_.located.size(), 2u) << "nothing after it is looked at";
}

TEST_F(WireCodec, AListOfTooManyTensorsIsNotSent) {
  every_field sent;
  sent.list.resize(wire::max_list_tensors + 1);
  const auto used = wire::encode(request_type_of<every_field>(), &sent, {}, spaces_);
  ASSERT_FALSE(used);
  EXPECT_EQ(const_cast<result<std::size_t>&>(used).error().code, errc::size_overflow);
}

TEST_F(WireCodec, TheStepOfASingleElementMayBeAnyNumber) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t extent : {0, 1}) {
    every_field sent = spaces_.filled();
    const std::array<std::int64_t, 2> strides{most, 1};
    sent.read = spaces_.tensor(64, dtype::f32, {extent, 3}, strides);
    const std::vector<std::byte> bytes = encoded(sent, spaces_);
    every_field got;
    const auto decoded = decode(bytes, got);
    ASSERT_TRUE(decoded) << const_cast<result<void>&>(decoded).error().message;
    EXPECT_EQ(got.read.address(), sent.read.address());
    EXPECT_EQ(got.read.extent(0), extent);
    EXPECT_EQ(got.read.stride(1), 1);
    EXPECT_EQ(operands_[0].end - operands_[0].begin, extent == 0 ? 0u : 12u);
  }
}

TEST_F(WireCodec, PrintsTheRequestWithItsNumbers) {
  every_field r = spaces_.filled();
  EXPECT_EQ(
      print(request_type_of<every_field>(), &r),
      "test.every_field read=<f32>[2, 3] written=<c128>[4, 2] strides [1, 4] updated=<i8>[] "
      "list=3×<bf16>[7] beta=1.5-2i integer=-77 real=0.1 flag=true shade=green text=\"words\" "
      "numbers=[3 numbers] scalars=[2 scalars]");
}

/// Encodes a request in memory that is read-only.
template <class Request>
void send_unwritable(const Request& r, three_pools& spaces) {
  const std::size_t page = 4096;
  static_assert(sizeof(Request) <= page);
  void* const at =
      ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  auto* const sent = std::construct_at(static_cast<Request*>(at), r);
  ASSERT_EQ(::mprotect(at, page, PROT_READ), 0);
  std::vector<std::byte> room(8192);
  EXPECT_TRUE(wire::encode(request_type_of<Request>(), sent, room, spaces));
  ASSERT_EQ(::mprotect(at, page, PROT_READ | PROT_WRITE), 0);
  std::destroy_at(sent);
  ::munmap(at, page);
}

TEST_F(WireCodec, WritesNothingToWhatItSendsBecauseSeveralThreadsMaySendIt) {
  send_unwritable(spaces_.filled(), spaces_);
  send_unwritable(rng::bits{.to = spaces_.tensor(0, dtype::u32, {4}),
                            .from = {.seed = ~std::uint64_t{0}, .subsequence = 3}},
                  spaces_);
}

}  // namespace
}  // namespace troupe

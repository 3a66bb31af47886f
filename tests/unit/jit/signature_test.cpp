#include "libraries/jit/requests/signature.hpp"

#include <troupe/jit/digest.hpp>
#include <troupe/tensor/small_floats.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace troupe::jit {
namespace {

TEST(JitDigest, IsSha256) {
  EXPECT_EQ(to_string(digest_of({})),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  constexpr std::string_view abc = "abc";  // FIPS 180-4, appendix of examples
  EXPECT_EQ(to_string(digest_of(std::as_bytes(std::span(abc)))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/// Some element of some tensor.
any_tensor of(dtype type) {
  static std::byte memory[16];
  return any_tensor::unowned(memory, type, {1});
}

signature known(const char* mangled) {
  auto made = signature::of(mangled);
  EXPECT_TRUE(made) << mangled;
  return made ? *std::move(made) : signature();
}

TEST(JitSignature, ReadsTheParametersOfAMangledName) {
  // template <class T> void add(const T*, const T*, T*, int)
  const signature s = known("_Z3addIfEvPKT_S2_PS0_i");
  EXPECT_EQ(s.name(), "add<float>");
  ASSERT_EQ(s.parameters().size(), 4u);
  EXPECT_EQ(s.parameters()[0].text, "float const*");
  EXPECT_TRUE(s.parameters()[0].pointer);
  EXPECT_TRUE(s.parameters()[0].to_const);
  EXPECT_EQ(s.parameters()[0].type, dtype::f32);
  EXPECT_FALSE(s.parameters()[2].to_const);
  EXPECT_FALSE(s.parameters()[3].pointer);
  EXPECT_EQ(s.parameters()[3].type, dtype::i32);
}

TEST(JitSignature, IsNotFooledByCommasAndParenthesesWithin) {
  // template <class F, class P> void inner::apply(P, F*, int), with P = pair<int, float>
  const signature s = known("_ZN5inner5applyIFiiiE4pairIifEEEvT0_PT_i");
  EXPECT_EQ(s.name(), "inner::apply<int (int, int), pair<int, float> >");
  ASSERT_EQ(s.parameters().size(), 3u);
  EXPECT_EQ(s.parameters()[0].text, "pair<int, float>");
  EXPECT_FALSE(s.parameters()[0].type);
  EXPECT_EQ(s.parameters()[2].text, "int");
}

TEST(JitSignature, KnowsNothingOfOtherNames) {
  EXPECT_FALSE(signature::of("add"));
  EXPECT_FALSE(signature::of("_Znonsense"));
  EXPECT_FALSE(signature::of(""));
  EXPECT_TRUE(known("_Z7nothingv").parameters().empty());
}

void expect_refused(const signature& s, const arguments& given, errc code, std::string_view words) {
  const auto verdict = s.check(given);
  ASSERT_FALSE(verdict) << words;
  EXPECT_EQ(verdict.error().code, code);
  EXPECT_EQ(verdict.error().message, words);
}

TEST(JitSignature, TakesWhatFits) {
  const signature add = known("_Z3addIfEvPKT_S2_PS0_i");
  const auto f = of(dtype::f32);
  EXPECT_TRUE(add.check({reads(f), reads(f), writes(f), 3}));
  EXPECT_TRUE(add.check({reads(f), also_updates(of(dtype::i8)), reads(f), updates(f), 3}));
  // void k(char*, void*, float4*, __half, long long, bool)
  const signature others = known("_Z1kPcPvP6float46__halfxb");
  EXPECT_TRUE(others.check(
      {reads(of(dtype::u8)), reads(of(dtype::f64)), reads(f), f16(1.0F), std::int64_t{1}, true}));
  EXPECT_TRUE(others.check({reads(of(dtype::i8)), writes(of(dtype::i32)), updates(f), f16(1.0F),
                            std::int64_t{1}, false}));
}

TEST(JitSignature, RefusesWithTheParametersName) {
  const signature add = known("_Z3addIfEvPKT_S2_PS0_i");
  const auto f = of(dtype::f32);
  const auto d = of(dtype::f64);
  expect_refused(add, {reads(f), reads(f), writes(f)}, errc::invalid_argument,
                 "add<float> takes 4 arguments, 3 are given");
  expect_refused(add, {reads(f), reads(f), writes(f), 1, 2}, errc::invalid_argument,
                 "add<float> takes 4 arguments, 5 are given");
  expect_refused(add, {reads(f), reads(d), writes(f), 1}, errc::type_mismatch,
                 "parameter 1 of add<float> is float const*, which points to another type: it is "
                 "given a tensor of f64 that is read");
  expect_refused(add, {reads(f), writes(f), writes(f), 1}, errc::type_mismatch,
                 "parameter 1 of add<float> is float const*, which is only read: it is given a "
                 "tensor of f32 that is written");
  expect_refused(add, {reads(f), reads(f), writes(f), 1.0F}, errc::type_mismatch,
                 "parameter 3 of add<float> is int, which is another type: it is given a number of "
                 "type f32");
  expect_refused(add, {reads(f), reads(f), writes(f), std::int64_t{1}}, errc::type_mismatch,
                 "parameter 3 of add<float> is int, which is another type: it is given a number of "
                 "type i64");
  expect_refused(add, {reads(f), reads(f), 0, 1}, errc::type_mismatch,
                 "parameter 2 of add<float> is float*, which takes no number: it is given a number "
                 "of type i32");
  expect_refused(add, {reads(f), reads(f), writes(f), reads(f)}, errc::type_mismatch,
                 "parameter 3 of add<float> is int, which takes no address: it is given a tensor "
                 "of f32 that is read");
  // void k(CUtensorMap)
  const signature map = known("_Z1k14CUtensorMap_st");
  expect_refused(map, {reads(f)}, errc::type_mismatch,
                 "parameter 0 of k is CUtensorMap_st, which takes no address: it is given a tensor "
                 "of f32 that is read");
  EXPECT_TRUE(map.check({reads_tile(f, {.box = {1}})}));
  expect_refused(add, {reads_tile(f, {.box = {1}}), reads(f), writes(f), 1}, errc::type_mismatch,
                 "parameter 0 of add<float> is float const*, which takes no tensor map: it is "
                 "given a tensor map of f32");
}

}  // namespace
}  // namespace troupe::jit

#include "libraries/dnn/requests/attention_limits.hpp"

#include <gtest/gtest.h>

namespace troupe::dnn {
namespace {

TEST(AttentionLimits, NameTheRuleAndTheValues) {
  const auto message = [](attention_facts f) {
    const auto verdict = within_limits(f);
    return verdict ? std::string() : verdict.error().message;
  };
  const attention_facts good{
      .sizes = {1, 2, 2, 2, 8, 16, 64, 64}, .type = dtype::f16, .result_type = dtype::f16};
  EXPECT_EQ(message(good), "");
  attention_facts f = good;
  f.type = dtype::f64;
  EXPECT_EQ(
      message(f),
      "not offered: cuDNN has attention in f16, bf16 and e4m3: not in f64, and in f32 it gave "
      "faults and wrong results; q is f64");
  f = good;
  f.alibi = true;
  EXPECT_EQ(message(f), "not offered: alibi needs mask.right = 0; mask.right is -1");
  f = good;
  f.allowed = true;
  EXPECT_NE(message(f).find("soft cap, sinks or boolean masks; mask.allowed is given"),
            std::string::npos);
  f = good;
  f.right = 0;
  f.diagonal = diagonal::bottom_right;
  EXPECT_EQ(message(f), "");
  f.sizes.s_q = 17;
  EXPECT_NE(message(f).find("s_q is 17, s_kv is 16"), std::string::npos);
  f.lengths = true;
  EXPECT_EQ(message(f), "");
  f.dropout = true;
  EXPECT_NE(message(f).find("right is 0 and dropout is given"), std::string::npos);
  f = good;
  f.type = f.result_type = dtype::e4m3;
  EXPECT_EQ(message(f), "");
  f.lengths = true;
  EXPECT_NE(message(f).find("lengths with pages alone"), std::string::npos);
  f.paged = true;
  EXPECT_EQ(message(f), "");
  f.alibi = true;
  f.right = 0;
  EXPECT_NE(message(f).find("no bias, alibi or dropout; alibi is given"), std::string::npos);
  f.alibi = false;
  f.sizes.d = 72;
  EXPECT_NE(message(f).find("d is 72, d_v is 64"), std::string::npos);
  f = good;
  f.backward = true;
  f.sizes.d_v = 264;
  EXPECT_NE(message(f).find("d is 64, d_v is 264"), std::string::npos);
}

}  // namespace
}  // namespace troupe::dnn

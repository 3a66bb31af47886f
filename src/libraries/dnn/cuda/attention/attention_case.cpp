#include "libraries/dnn/cuda/attention/attention_case.hpp"

#include "libraries/dnn/cuda/limits.hpp"
#include "libraries/dnn/cuda/plan/layout.hpp"

#include <bit>
#include <utility>

// Reads the fields of a request into a case.
namespace troupe::cuda {

template <class R>
void attention_case::take(const R& r) {
  operands_[q_at] = r.q;
  operands_[k_at] = r.k;
  operands_[v_at] = r.v;
  operands_[o_at] = r.o;
  operands_[statistics_at] = r.statistics;
  operands_[bias_at] = r.bias;
  operands_[lengths_q_at] = r.mask.lengths_q;
  operands_[lengths_kv_at] = r.mask.lengths_kv;
  operands_[offsets_q_at] = r.packed.offsets_q;
  operands_[offsets_k_at] = r.packed.offsets_k;
  operands_[offsets_v_at] = r.packed.offsets_v;
  operands_[offsets_o_at] = r.packed.offsets_o;
  allowed_ = r.mask.allowed;
  sinks_ = r.sinks;
  sizes_ = dnn::sizes_of(r);
  soft_cap_ = r.soft_cap;
  scale_ = dnn::scale_of(r);
  dropout_ = r.dropout.probability;
  seed_ = r.dropout.seed;
  offset_ = r.dropout.offset;
  diagonal_ = r.mask.diagonal;
  left_ = r.mask.left;
  right_ = r.mask.right;
  alibi_ = r.alibi;
}

void attention_case::choose(dnn::attention_facts facts) {
  empty_ = true;
  const auto capability = compute_capability();
  if (!capability) {
    within_limits_ = capability.error();
    return;
  }
  facts.compute_capability = *capability;
  // Each implementation draws its own dropout mask, so forward must use the one that backward will
  // use.
  facts.backward = facts.backward || facts.dropout;
  auto within = dnn::within_limits(facts);
  if (fp8()) {
    within_limits_ = std::move(within);
    empty_ = !within_limits_ || sizes_.scores() == 0 || sizes_.d == 0 || sizes_.d_v == 0;
    return;
  }
  by_tiles_ = !within || sizes_.scores() == 0 || sizes_.d == 0 || sizes_.d_v == 0;
  if (!by_tiles_ && !accepts_packed()) {
    by_tiles_ = !drops();
    if (drops()) {
      within_limits_ =
          error{.code = errc::unsupported,
                .message =
                    "not offered: dropout of packed sequences of f16 or bf16 needs head sizes that "
                    "are multiples of 8, rows without gaps and addresses at multiples of 16 bytes"};
      return;
    }
  }
  empty_ = by_tiles_;
}

attention_case::attention_case(const dnn::attention_forward& r) : all_attend_(r.all_attend) {
  take(r);
  operands_[table_k_at] = r.pages.k;
  operands_[table_v_at] = r.pages.v;
  operands_[descale_q_at] = r.fp8.descale_q;
  operands_[descale_k_at] = r.fp8.descale_k;
  operands_[descale_v_at] = r.fp8.descale_v;
  operands_[descale_s_at] = r.fp8.descale_s;
  operands_[scale_s_at] = r.fp8.scale_s;
  operands_[scale_o_at] = r.fp8.scale_o;
  operands_[amax_s_at] = r.fp8.amax_s;
  operands_[amax_o_at] = r.fp8.amax_o;
  choose(dnn::facts_of(r));
}

attention_case::attention_case(const dnn::attention_backward& r)
    : backward_(true), deterministic_(r.deterministic) {
  take(r);
  operands_[d_o_at] = r.dout;
  operands_[d_q_at] = r.dq;
  operands_[d_k_at] = r.dk;
  operands_[d_v_at] = r.dv;
  operands_[d_bias_at] = r.dbias;
  d_sinks_ = r.dsinks;
  choose(dnn::facts_of(r));
}

void attention_case::write(plan_words& key) const {
  key.clear();
  key.push_back(limits::cudnn::key_of_plans << 8 | (backward_ ? 0x81 : 0x80));
  for (std::size_t number = 0; number < operands_.size(); ++number) {
    write_layout(key, operands_[number]);
    if (has_rows(number)) key.push_back(is_staged(number));
    if (is_of_scores(number)) key.push_back(alignment_told(number));
  }
  for (const std::int64_t size : {sizes_.batch, sizes_.s_q, sizes_.s_kv, left_, right_})
    key.push_back(size);
  key.push_back(std::bit_cast<std::int64_t>(scale_));
  key.push_back(std::bit_cast<std::int64_t>(dropout_));
  key.push_back(static_cast<std::int64_t>(diagonal_) | std::int64_t{alibi_} << 8 |
                std::int64_t{deterministic_} << 9);
}

}  // namespace troupe::cuda

#include "libraries/dnn/cuda/attention/tiles/run.hpp"

#include "backend/cuda/context/call_frame.hpp"
#include "libraries/dnn/cuda/attention/checked_contents.hpp"
#include "libraries/dnn/cuda/attention/tiles/enqueue.hpp"
#include "libraries/dnn/shared/attention_masks.hpp"

namespace troupe::cuda::tiles {
namespace {

using number = attention_case::operand_number;

/// The rows of an operand, with its checked offsets or pages.
head_rows rows_of(const attention_case& what, std::size_t at, const checked_contents& contents) {
  const any_tensor& t = what.operand(at);
  if (t.null()) return {};
  head_rows rows{.at = t.address(), .type = t.type(), .head_step = t.stride(1)};
  rows.step = t.stride(t.rank() - 1);
  if (t.rank() == 3) {  // packed: [t, h, d]
    rows.row_step = t.stride(0);
    rows.offsets =
        reinterpret_cast<const std::int64_t*>(contents.address(attention_case::offsets_of(at)));
    return rows;
  }
  rows.sequence_step = t.stride(0);
  rows.row_step = t.stride(2);
  const std::size_t table = at == number::k_at ? number::table_k_at : number::table_v_at;
  if ((at == number::k_at || at == number::v_at) && !what.operand(table).null()) {
    rows.table = reinterpret_cast<const std::int32_t*>(contents.address(table));
    rows.per_sequence = what.operand(table).extent(1);
    rows.page_size = t.extent(2);
  }
  return rows;
}

score_rows scores_of(const any_tensor& t) {
  score_rows rows{.at = t.address(), .type = t.type()};
  for (int d = 0; !t.null() && d < 4; ++d)
    rows.steps[d] = t.extent(d) == 1 ? 0 : t.stride(d);
  return rows;
}

head_numbers numbers_of(const any_tensor& t) {
  if (t.null()) return {};
  return {.at = t.address(), .type = t.type(), .step = t.stride(0)};
}

}  // namespace

result<void> run(const attention_case& what, lane& where) {
  const dnn::attention_sizes& sizes = what.sizes();
  const dtype type = what.operand(number::q_at).type();
  call_frame c(where);
  checked_contents contents(c, what);
  const std::int64_t rows = what.backward() ? sizes.batch * sizes.heads * sizes.s_q : 0;
  const auto delta = c.bytes(rows * size_of(type == dtype::f64 ? dtype::f64 : dtype::f32));
  TRY(c.begin());

  problem p{.batch = sizes.batch,
            .heads = sizes.heads,
            .key_heads = sizes.key_heads,
            .value_heads = sizes.value_heads,
            .s_q = sizes.s_q,
            .s_kv = sizes.s_kv,
            .d = sizes.d,
            .d_v = sizes.d_v,
            .q = rows_of(what, number::q_at, contents),
            .k = rows_of(what, number::k_at, contents),
            .v = rows_of(what, number::v_at, contents),
            .o = rows_of(what, number::o_at, contents),
            .statistics = scores_of(what.operand(number::statistics_at)),
            .bias = scores_of(what.operand(number::bias_at)),
            .allowed = scores_of(what.allowed()),
            .sinks = numbers_of(what.sinks()),
            .lengths_q = contents.lengths_q(),
            .lengths_kv = contents.lengths_kv(),
            .wrong = contents.wrong(),
            .scale = what.scale(),
            .soft_cap = what.soft_cap(),
            .left = what.left(),
            .right = what.right(),
            .ends_meet = what.ends_meet(),
            .alibi = what.alibi(),
            .drops = what.drops(),
            .threshold = dnn::dropout_threshold(what.dropout()),
            .kept = 1 / (1 - what.dropout()),
            .seed = what.seed(),
            .offset = static_cast<std::uint64_t>(what.offset())};
  if (!what.backward()) return enqueue_forward(p, type, where.stream());

  p.d_o = rows_of(what, number::d_o_at, contents);
  p.d_q = rows_of(what, number::d_q_at, contents);
  p.d_k = rows_of(what, number::d_k_at, contents);
  p.d_v_rows = rows_of(what, number::d_v_at, contents);
  if (const any_tensor& d_bias = what.operand(number::d_bias_at); !d_bias.null()) {
    p.d_bias = scores_of(d_bias);
    p.bias_batch = d_bias.extent(0);
    p.bias_heads = d_bias.extent(1);
  }
  p.d_sinks = numbers_of(what.d_sinks());
  p.delta = delta;
  return enqueue_backward(p, type, where.stream());
}

}  // namespace troupe::cuda::tiles

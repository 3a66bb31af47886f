#include "libraries/blas/requests/rules.hpp"
#include "libraries/blaslt/requests/geometry.hpp"
#include "libraries/blaslt/requests/rules.hpp"

namespace troupe::blaslt {
namespace {

template <argument_checks& (*Checks)(argument_checks&, const matmul&)>
void check_by(argument_checks& check, const matmul& r) {
  Checks(check, r);
}

}  // namespace

void matmul::describe(description<matmul>& d) {
  using r = matmul;
  const extent batch = d.sizes("batch", 0, 1);
  const extent m = d.size("m");
  const extent n = d.size("n");
  const extent k = d.size("k");
  const extent aux_rows = d.size("aux_rows");
  const extent aux_columns = d.size("aux_columns");
  const condition fp8 = d.is(&r::a, {dtype::e4m3, dtype::e5m2});
  const condition fp8_result = d.is(&r::d, {dtype::e4m3, dtype::e5m2});
  d.about(
      "Multiplies two matrices and applies an epilogue: d = epilogue(alpha · op_a(a) · op_b(b) + "
      "beta · c).",
      "cuBLAS documentation, cublasLtMatmul");
  d.reads("a", &r::a, {batch, m, k}, "left factor");
  d.reads("b", &r::b, {batch, k, n}, "right factor");
  d.value("alpha", &r::alpha, "factor of the product");
  d.value("beta", &r::beta, "factor of c");
  d.value("epilogue", &r::epilogue, "last step of the product before it is stored");
  d.reads("c", &r::c, {batch, m, n}, "addend").given_where(!d.zero(&r::beta));
  d.updates("d", &r::d, {batch, m, n}, "result")
      .updated_where(d.same_view(&r::c, &r::d))
      .may_be(&r::c);
  d.value("op_a", &r::op_a, "applied to a's elements");
  d.value("op_b", &r::op_b, "applied to b's elements");
  d.reads("bias", &r::bias, {batch, n}, "added along d's last extent")
      .given_where(d.is(&r::epilogue, has_bias))
      .shape_where(d.has_rank(&r::bias, 1), {n});
  d.reads("aux", &r::aux, {batch, m, n}, "what the backward pass needs; of relu bits")
      .given_where(d.is(&r::epilogue, has_aux))
      .written_where(d.is(&r::epilogue, writes_aux))
      .shape_where(d.is(&r::epilogue, is_relu), {batch, aux_rows, aux_columns});
  d.writes("bgrad", &r::bgrad, {batch, n}, "gradient of the bias")
      .given_where(d.is(&r::epilogue, sums_rows, sums_operand))
      .shape_where(d.is(&r::epilogue, {blaslt::epilogue::bgrad_a}), {batch, m});
  d.reads("scale_a", &r::scale_a, {1}, "factors of a; 1 where not given")
      .only_where(fp8)
      .shape_where(d.is(&r::scaling_a, {scaling::outer_vector}), {m})
      .shape_where(d.is(&r::scaling_a, {scaling::block_128}), {m, ceil(k, 128)})
      .shape_where(d.is(&r::scaling_a, {scaling::block_128x128}), {ceil(m, 128), ceil(k, 128)});
  d.reads("scale_b", &r::scale_b, {1}, "factors of b; 1 where not given")
      .only_where(fp8)
      .shape_where(d.is(&r::scaling_b, {scaling::outer_vector}), {n})
      .shape_where(d.is(&r::scaling_b, {scaling::block_128}), {ceil(k, 128), n})
      .shape_where(d.is(&r::scaling_b, {scaling::block_128x128}), {ceil(k, 128), ceil(n, 128)});
  d.reads("scale_c", &r::scale_c, {1}, "factor of c; 1 where not given")
      .only_where(fp8)
      .only_where(d.given(&r::c));
  d.reads("scale_d", &r::scale_d, {1}, "factor of d; 1 where not given").only_where(fp8_result);
  d.value("scaling_a", &r::scaling_a, "what a factor of scale_a belongs to").only_where(fp8);
  d.value("scaling_b", &r::scaling_b, "what a factor of scale_b belongs to").only_where(fp8);
  d.writes("amax_d", &r::amax_d, {1}, "the largest magnitude before scale_d")
      .only_where(fp8_result);
  d.value("math", &r::math, "arithmetic of the product").only_where(blas::takes_math(d, &r::a));
  d.value("fast_accumulation", &r::fast_accumulation, "sums stay in the short accumulators of fp8")
      .only_where(fp8);
  d.value("tuning", &r::tuning, "how the kernel is chosen");
  d.value("candidates", &r::candidates, "kernels that are measured").range(1, 64);
  d.layouts(layout::matrix, {&r::a, &r::b, &r::c, &r::d});
  d.types({&r::a, &r::b, &r::d, &r::c, &r::bias, &r::bgrad},
          type_rows::of(combinations, &combination::a, &combination::b, &combination::d,
                        &combination::c, &combination::bias, &combination::bias));
  d.same_type({&r::scale_a, &r::scale_b, &r::scale_c, &r::scale_d, &r::amax_d}, {dtype::f32});
  d.factors({&r::alpha, &r::beta}, &r::d);
  d.rule("a batch has 2^31 − 1 products at most", check_by<batch_fits>);
  d.rule("c and d have one order", check_by<one_order>);
  d.rule("cuBLASLt has the epilogue for these types", check_by<types_have_epilogue>);
  d.rule("bias and bgrad are contiguous, and d, or the factor that is summed, is in their order",
         check_by<epilogue_vector_fits>);
  d.rule("aux is as its epilogue needs it", check_by<epilogue_aux_fits>);
  d.rule("scalings go together", check_by<scalings_fit>);
  d.rule(
      "scales and amax_d begin at multiples of 16 bytes, scales of blocks lie as cuBLASLt takes "
      "them",
      check_by<scales_are_laid_out>);
  d.rule("cuBLASLt takes extents, strides and addresses", check_by<library_takes>);
}

}  // namespace troupe::blaslt

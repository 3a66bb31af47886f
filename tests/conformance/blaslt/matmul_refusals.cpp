// Refusals of a product with an epilogue, before anything is queued, and their messages.

#include "matmul_cases.hpp"

#include <functional>

namespace troupe::conformance {
namespace {

using blaslt::combination_of;
using blaslt::epilogue;
using blaslt::matmul;
using blaslt::scaling;
using enum dtype;

blaslt::combination types(dtype a, dtype b, dtype c, dtype d) {
  return combination_of(a, b, c, d, {}).value();
}
const blaslt::combination f32_all = types(f32, f32, f32, f32);
const blaslt::combination fp8_to_bf16 = types(e4m3, e4m3, bf16, bf16);
const blaslt::combination fp8_to_fp8 = types(e4m3, e4m3, f16, e4m3);
const blaslt::combination i8_to_i8 = types(i8, i8, i8, i8);

using change = std::function<void(matmul&, scene&)>;

void refuse(const matmul_case& what, const change& spoil, errc code, std::string_view text) {
  matmul_under_test one(what);
  spoil(one.request, one.s);
  one.s.refuse(one.request, code, text);
}
void nothing(matmul&, scene&) {}

TEST(BlasltRefusals, ShapesThatDoNotFit) {
  const auto refuse_shape = [](const change& spoil, std::string_view text) {
    refuse({.types = f32_all, .c = added::another}, spoil, errc::shape_mismatch, text);
  };
  refuse_shape([](matmul& r, scene& s) { r.a = s.matrix_of(f32, 31, 64, layout::row).view; },
               "must have 31 rows (m) because a is [31, 64]");
  refuse_shape([](matmul& r, scene& s) { r.c = s.matrix_of(f32, 32, 47, layout::row).view; },
               "c must have 48 columns (n) because b is [64, 48]");
  refuse_shape(
      [](matmul& r, scene& s) { r.a = s.batch(f32, 2, 32, 64, layout::row).view; },
      "b must have the leading extents [2] (batch) because a is [2, 32, 64]; b is [64, 48]");
}

TEST(BlasltRefusals, AProductOfNothing) {
  matmul_case c{.types = f32_all};
  c.k = 0;
  refuse(c, nothing, errc::unsupported, "k is 0: cuBLASLt has no product of nothing");
  c.k = 8;
  c.m = 0;
  c.epilogue = epilogue::drelu_bgrad;
  refuse(c, nothing, errc::shape_mismatch, "d has no elements, so there is no gradient");
  c.m = 8;
  c.k = 1;
  refuse(c, nothing, errc::unsupported, "epilogue drelu_bgrad needs k above 1, it is 1");
}

TEST(BlasltRefusals, TypesThatTheLibraryDoesNotMultiply) {
  const auto refuse_types = [](dtype a, dtype b, dtype d, std::string_view text) {
    scene s;
    s.refuse(matmul{.a = s.matrix_of(a, 16, 16, layout::row).view,
                    .b = s.matrix_of(b, 16, 16, layout::column).view,
                    .d = s.matrix_of(d, 16, 16, layout::row).view},
             errc::type_mismatch, text);
  };
  refuse_types(f32, f64, f64, "b must be f32 because a is f32; it is f64");
  refuse_types(f16, bf16, f32, "b must be f16 because a is f16; it is bf16");
  refuse_types(f16, f16, bf16,
               "d must be one of f16, f32 because a is f16 and b is f16; it is bf16");
  refuse_types(e5m2, e5m2, f16, "b must be e4m3");
  refuse_types(e4m3, e4m3, e5m2, "d must be one of bf16, f16, f32, e4m3");
  refuse_types(i8, i8, f16, "d must be one of i32, i8, f32");
  refuse(
      {.types = fp8_to_bf16, .c = added::another},
      [](matmul& r, scene& s) { r.c = s.matrix_of(f16, 32, 48, layout::row).view; },
      errc::type_mismatch,
      "c must be bf16 because a is e4m3 and b is e4m3 and d is bf16; it is f16");
}

TEST(BlasltRefusals, FactorsAndModesThatDoNotFit) {
  const auto refuse_factor = [](const blaslt::combination& of, const change& spoil,
                                std::string_view text) {
    refuse({.types = of, .c = added::another}, spoil, errc::invalid_argument, text);
  };
  refuse_factor(
      f32_all, [](matmul& r, scene&) { r.alpha = number(1, 2); },
      "alpha must be real because d is f32; it is 1+2i");
  refuse_factor(
      types(i8, i8, i32, i32), [](matmul& r, scene&) { r.beta = 0.5; },
      "beta is 0.5, it must be a 32-bit integer where d is i32");
  refuse_factor(
      fp8_to_bf16, [](matmul& r, scene&) { r.math = blas::math_mode::tf32; },
      "math is tf32, but it must be strict unless a is f32 or c64; a is e4m3");
  refuse_factor(
      f32_all, [](matmul& r, scene&) { r.fast_accumulation = true; },
      "fast_accumulation is true, but it must be false unless a is e4m3 or e5m2; a is f32");
  refuse_factor(
      f32_all, [](matmul& r, scene&) { r.candidates = 65; },
      "candidates is 65, it must be 1 to 64");
  refuse_factor(
      f32_all, [](matmul& r, scene&) { r.beta = 0; }, "c must not be given unless beta is not 0");
  refuse_factor(
      f32_all, [](matmul& r, scene&) { r.c = {}; }, "c must be given because beta is not 0");
}

TEST(BlasltRefusals, ConjugationWithoutTransposition) {
  matmul_case c{.types = types(c64, c64, c64, c64), .row_major_d = true};
  c.op_a = blas::op::conjugate;
  refuse(
      c, nothing, errc::layout_unsupported,
      "cuBLASLt conjugates only what it transposes: a must be column-major where d is row-major");
}

TEST(BlasltRefusals, LayoutsThatNoMatrixHas) {
  const auto refuse_layout = [](const change& spoil, std::string_view text) {
    refuse({.types = f32_all, .c = added::another}, spoil, errc::layout_unsupported, text);
  };
  refuse_layout([](matmul& r, scene& s) { r.a = s.tensor(f32, {32, 64}, {128, 2}).view; },
                "a must be a row-major or column-major matrix");
  refuse_layout([](matmul& r, scene& s) { r.c = s.matrix_of(f32, 32, 48, layout::column).view; },
                "c and d must both be row-major or both column-major");
  refuse(
      {.types = f32_all, .row_major_d = false},
      [](matmul& r, scene& s) {
        r.epilogue = epilogue::bias;
        r.bias = s.vector(f32, 48).view;
      },
      errc::layout_unsupported, "epilogue bias works along d's last extent");
}

TEST(BlasltRefusals, OperandsOfTheEpilogueThatAreMissingOrTooMany) {
  const auto refuse_operand = [](epilogue e, const change& spoil, errc code,
                                 std::string_view text) {
    refuse({.types = f32_all, .epilogue = e}, spoil, code, text);
  };
  refuse_operand(
      epilogue::relu_bias, [](matmul& r, scene&) { r.bias = {}; }, errc::invalid_argument,
      "bias must be given because epilogue is relu_bias");
  refuse_operand(
      epilogue::relu, [](matmul& r, scene& s) { r.bias = s.vector(f32, 48).view; },
      errc::invalid_argument,
      "bias must not be given unless epilogue is bias, relu_bias, gelu_bias, "
      "relu_aux_bias or gelu_aux_bias; epilogue is relu");
  refuse_operand(
      epilogue::dgelu, [](matmul& r, scene&) { r.aux = {}; }, errc::invalid_argument,
      "aux must be given because epilogue is dgelu");
  refuse_operand(
      epilogue::dgelu_bgrad, [](matmul& r, scene&) { r.bgrad = {}; }, errc::invalid_argument,
      "bgrad must be given because epilogue is dgelu_bgrad");
  refuse_operand(
      epilogue::bias, [](matmul& r, scene& s) { r.bias = s.vector(f32, 32).view; },
      errc::shape_mismatch, "bias must have 48 elements (n) because b is [64, 48]");
  refuse_operand(
      epilogue::bias, [](matmul& r, scene& s) { r.bias = s.vector(f32, 48, 2).view; },
      errc::layout_unsupported, "bias must be contiguous");
  refuse_operand(
      epilogue::bias, [](matmul& r, scene& s) { r.bias = s.vector(f16, 48).view; },
      errc::type_mismatch,
      "bias must be f32 because a is f32 and b is f32 and d is f32; it is f16");
  refuse_operand(
      epilogue::bgrad_a, [](matmul& r, scene& s) { r.bgrad = s.vector(f32, 32).view; },
      errc::layout_unsupported, "epilogue bgrad_a needs a column-major");
  refuse_operand(
      epilogue::gelu_aux,
      [](matmul& r, scene& s) { r.aux = s.tensor(f32, {32, 48}, {50, 1}).view; },
      errc::layout_unsupported, "multiples of 8");
  refuse_operand(
      epilogue::relu_aux, [](matmul& r, scene& s) { r.aux = s.tensor(u8, {32, 6}, {16, 1}).view; },
      errc::shape_mismatch, "aux is [32, 6] but what the epilogue needs is [32, 16]");
  refuse_operand(
      epilogue::relu_aux, [](matmul& r, scene& s) { r.aux = s.tensor(u8, {32, 16}, {24, 1}).view; },
      errc::layout_unsupported, "multiples of 16");
  refuse_operand(
      epilogue::relu_aux,
      [](matmul& r, scene& s) { r.aux = s.tensor(f32, {32, 16}, {16, 1}).view; },
      errc::type_mismatch, "aux is f32 but must be one of u8");
  const auto refuse_in_a_batch = [](epilogue e, const change& spoil, std::string_view text) {
    refuse({.types = f32_all, .epilogue = e, .batch = 3}, spoil, errc::layout_unsupported, text);
  };
  refuse_in_a_batch(
      epilogue::gelu_aux,
      [](matmul& r, scene& s) { r.aux = s.tensor(f32, {3, 32, 48}, {32 * 48 + 1, 48, 1}).view; },
      "distance in a batch multiples of 8");
  refuse_in_a_batch(
      epilogue::dgelu,
      [](matmul& r, scene& s) { r.aux = s.tensor(f32, {3, 32, 48}, {32 * 48 + 4, 48, 1}).view; },
      "distance in a batch multiples of 8");
  refuse_in_a_batch(
      epilogue::relu_aux,
      [](matmul& r, scene& s) { r.aux = s.tensor(u8, {3, 32, 16}, {32 * 16 + 8, 16, 1}).view; },
      "distance in a batch multiples of 16");
}

TEST(BlasltRefusals, EpiloguesThatTheTypesDoNotHave) {
  const auto refuse_epilogue = [](const blaslt::combination& of, epilogue e,
                                  std::string_view text) {
    refuse({.types = of, .epilogue = e}, nothing, errc::unsupported, text);
  };
  refuse_epilogue(types(c64, c64, c64, c64), epilogue::relu,
                  "cuBLASLt has no epilogue relu for these types: a c64, b c64, d c64");
  refuse_epilogue(types(i8, i8, i32, i32), epilogue::bias, "no epilogue bias");
  refuse_epilogue(types(i8, i8, f32, f32), epilogue::gelu, "no epilogue gelu");
  refuse_epilogue(i8_to_i8, epilogue::relu_aux, "no epilogue relu_aux");
  refuse_epilogue(fp8_to_bf16, epilogue::bgrad_b, "no epilogue bgrad_b");
  for (const epilogue e :
       {epilogue::drelu, epilogue::drelu_bgrad, epilogue::dgelu, epilogue::dgelu_bgrad}) {
    refuse_epilogue(types(e4m3, e4m3, bf16, e4m3), e, "no epilogue d");
  }
  for (const epilogue e : {epilogue::gelu_aux_bias, epilogue::drelu_bgrad, epilogue::dgelu_bgrad}) {
    refuse_epilogue(types(e4m3, e5m2, f32, f32), e, "no epilogue");
  }
  refuse({.types = types(e4m3, e5m2, bf16, e5m2), .epilogue = epilogue::gelu_aux}, nothing,
         errc::unsupported, "only where a, b and d are e4m3");
}

TEST(BlasltRefusals, WhatNarrowTypesNeed) {
  const auto refuse_narrow = [](const matmul_case& what, errc code, std::string_view text) {
    refuse(what, nothing, code, text);
  };
  refuse_narrow({.types = fp8_to_bf16, .k = 24}, errc::unsupported,
                "k must be a multiple of 16 for fp8, it is 24");
  refuse_narrow({.types = fp8_to_bf16, .n = 40}, errc::unsupported,
                "d's contiguous extent must be a multiple of 16 for fp8, it is 40");
  refuse_narrow({.types = fp8_to_bf16, .row_major_a = false}, errc::layout_unsupported,
                "products of fp8 need k contiguous in both factors");
  refuse_narrow({.types = i8_to_i8, .row_major_b = true}, errc::layout_unsupported,
                "products of i8 need k contiguous");
  refuse_narrow({.types = i8_to_i8, .k = 6}, errc::unsupported,
                "k must be a multiple of 4 for i8, it is 6");
  refuse(
      {.types = fp8_to_bf16},
      [](matmul& r, scene& s) { r.a = s.tensor(e4m3, {32, 64}, {72, 1}).view; },
      errc::layout_unsupported, "a's leading dimension");
  refuse(
      {.types = fp8_to_bf16},
      [](matmul& r, scene& s) {
        r.a = s.tensor(e4m3, {32, 80}, {80, 1}).view.slice(1, 8, 72).value();
      },
      errc::layout_unsupported, "a must begin at a multiple of 16 bytes for fp8");
}

/// A vector that begins with the second of its elements.
any_tensor second_of(scene& s, dtype type, std::int64_t n) {
  return s.vector(type, n + 1).view.slice(0, 1, n + 1).value();
}

TEST(BlasltRefusals, VectorsOfNarrowTypesThatAreNotAligned) {
  const auto refuse_vector = [](const matmul_case& what, const change& spoil,
                                std::string_view text) {
    refuse(what, spoil, errc::layout_unsupported, text);
  };
  refuse_vector(
      {.types = i8_to_i8, .epilogue = epilogue::bias},
      [](matmul& r, scene& s) { r.bias = second_of(s, f32, 48); },
      "bias must begin at a multiple of 16 bytes for i8, its address ends in 4");
  refuse_vector(
      {.types = i8_to_i8, .epilogue = epilogue::relu_bias, .batch = 3},
      [](matmul& r, scene& s) { r.bias = s.tensor(f32, {3, 48}, {50, 1}).view; },
      "bias's distance in a batch must be a multiple of 16 bytes for i8");
  refuse_vector(
      {.types = fp8_to_bf16, .epilogue = epilogue::gelu_bias},
      [](matmul& r, scene& s) { r.bias = second_of(s, bf16, 48); },
      "bias must begin at a multiple of 16 bytes for fp8, its address ends in 2");
  refuse_vector(
      {.types = fp8_to_bf16, .epilogue = epilogue::drelu_bgrad},
      [](matmul& r, scene& s) { r.bgrad = second_of(s, bf16, 48); },
      "bgrad must begin at a multiple of 16 bytes for fp8, its address ends in 2");
  refuse_vector(
      {.types = fp8_to_bf16}, [](matmul& r, scene& s) { r.scale_b = second_of(s, f32, 1); },
      "scale_b must begin at a multiple of 16 bytes, its address ends in 4");
  refuse_vector(
      {.types = fp8_to_fp8}, [](matmul& r, scene& s) { r.amax_d = second_of(s, f32, 1); },
      "amax_d must begin at a multiple of 16 bytes, its address ends in 4");
  refuse_vector(
      {.types = fp8_to_bf16,
       .scaling_a = scaling::outer_vector,
       .scaling_b = scaling::outer_vector},
      [](matmul& r, scene& s) { r.scale_a = second_of(s, f32, 32); },
      "scale_a must begin at a multiple of 16 bytes, its address ends in 4");
}

TEST(BlasltRefusals, ScalesThatDoNotFit) {
  const auto one = [](scene& s) { return s.vector(f32, 1).view; };
  refuse(
      {.types = f32_all}, [&](matmul& r, scene& s) { r.scale_a = one(s); }, errc::invalid_argument,
      "scale_a must not be given unless a is e4m3 or e5m2; a is f32");
  refuse(
      {.types = f32_all}, [&](matmul& r, scene& s) { r.amax_d = one(s); }, errc::invalid_argument,
      "amax_d must not be given unless d is e4m3 or e5m2; d is f32");
  refuse(
      {.types = fp8_to_bf16}, [&](matmul& r, scene& s) { r.scale_d = one(s); },
      errc::invalid_argument, "scale_d must not be given unless d is e4m3 or e5m2; d is bf16");
  refuse(
      {.types = fp8_to_bf16}, [&](matmul& r, scene& s) { r.scale_c = one(s); },
      errc::invalid_argument, "scale_c must not be given unless c is given");
  refuse(
      {.types = fp8_to_bf16}, [](matmul& r, scene& s) { r.scale_a = s.vector(f16, 1).view; },
      errc::type_mismatch, "scale_a must be f32; it is f16");
  refuse(
      {.types = fp8_to_bf16}, [](matmul& r, scene&) { r.scaling_a = scaling::outer_vector; },
      errc::unsupported, "cuBLASLt does not scale a by outer_vector and b by tensor");
  refuse(
      {.types = fp8_to_bf16},
      [](matmul& r, scene&) { r.scaling_a = r.scaling_b = scaling::block_128x128; },
      errc::unsupported, "cuBLASLt does not scale a by block_128x128 and b by block_128x128");
  refuse(
      {.types = fp8_to_bf16},
      [](matmul& r, scene&) { r.scaling_a = r.scaling_b = scaling::outer_vector; },
      errc::invalid_argument, "scale_a is not given but its scaling is outer_vector");
  refuse(
      {.types = fp8_to_fp8},
      [](matmul& r, scene&) { r.scaling_a = r.scaling_b = scaling::outer_vector; },
      errc::unsupported, "d must be f16, bf16 or f32");
  refuse(
      {.types = fp8_to_bf16, .batch = 2},
      [](matmul& r, scene&) { r.scaling_a = r.scaling_b = scaling::block_128; }, errc::unsupported,
      "a batch is scaled by tensor only");
  refuse(
      {.types = fp8_to_bf16, .scaling_a = scaling::block_128, .scaling_b = scaling::block_128},
      [](matmul& r, scene& s) { r.scale_b = s.tensor(f32, {1, 47}, {47, 1}).view; },
      errc::shape_mismatch,
      "scale_b must have extent 48 in dimension 1 (n) because b is [64, 48]; scale_b is [1, 47]");
  refuse(
      {.types = fp8_to_bf16,
       .k = 256,
       .scaling_a = scaling::block_128,
       .scaling_b = scaling::block_128},
      [](matmul& r, scene& s) { r.scale_a = s.tensor(f32, {32, 2}, {2, 1}).view; },
      errc::layout_unsupported, "needs strides of 1 along m and 32 along k");
}

TEST(BlasltRefusals, AuxThatSharesElements) {
  for (const epilogue e : {epilogue::gelu_aux, epilogue::dgelu}) {
    refuse(
        {.types = f32_all, .epilogue = e}, [](matmul& r, scene&) { r.aux = r.d; }, errc::aliasing,
        "d is written and must not overlap aux");
  }
}

}  // namespace
}  // namespace troupe::conformance

#include "libraries/blas/requests/rules.hpp"

#include <troupe/blas/level1_reductions.hpp>

namespace troupe::blas {
namespace {

template <class R>
void describe_two(description<R>& d) {
  const extent n = d.size("n");
  d.reads("x", &R::x, {n}, "first vector");
  d.reads("y", &R::y, {n}, "second vector");
  d.writes("result", &R::result, {1}, "takes the answer instead of the reply").optional();
  d.layouts(layout::vector, {&R::x, &R::y});
}

template <class R>
void describe_one(description<R>& d) {
  const extent n = d.size("n");
  d.reads("x", &R::x, {n}, "vector");
  d.writes("result", &R::result, {1}, "takes the answer instead of the reply").optional();
  d.layouts(layout::vector, {&R::x});
}

template <class R>
void answer_types(description<R>& d, std::initializer_list<dtype> types, dtype (*answer)(dtype)) {
  type_rows rows({});
  for (const dtype type : types)
    rows.rows.push_back({type, answer(type)});
  d.types({&R::x, &R::result}, rows);
}

dtype index_type(dtype /*of*/) noexcept { return dtype::i64; }

}  // namespace

void dot::describe(description<dot>& d) {
  d.about("The inner product of two real vectors: Σ xᵢ · yᵢ; 0 for length 0.", "BLAS xDOT");
  describe_two(d);
  d.same_type({&dot::x, &dot::y, &dot::result}, {dtype::f32, dtype::f64, dtype::f16, dtype::bf16});
}

void dsdot::describe(description<dsdot>& d) {
  d.about(
      "The inner product of two vectors of f32, accumulated and answered in f64; 0 for length 0.",
      "BLAS DSDOT");
  describe_two(d);
  d.types({&dsdot::x, &dsdot::y, &dsdot::result}, {{dtype::f32, dtype::f32, dtype::f64}});
}

void sdsdot::describe(description<sdsdot>& d) {
  d.about(
      "The inner product of two vectors of f32 and a number, alpha + Σ xᵢ · yᵢ, accumulated in f64 "
      "and rounded to f32.",
      "BLAS SDSDOT");
  d.value("alpha", &sdsdot::alpha, "number that is added");
  describe_two(d);
  d.same_type({&sdsdot::x, &sdsdot::y, &sdsdot::result}, {dtype::f32});
  d.factors({&sdsdot::alpha}, &sdsdot::x);
}

void dotc::describe(description<dotc>& d) {
  d.about("The inner product of two complex vectors, the first conjugated: Σ conj(xᵢ) · yᵢ.",
          "BLAS xDOTC");
  describe_two(d);
  d.same_type({&dotc::x, &dotc::y, &dotc::result}, complex_types);
}

void dotu::describe(description<dotu>& d) {
  d.about("The product of two complex vectors, none conjugated: Σ xᵢ · yᵢ.", "BLAS xDOTU");
  describe_two(d);
  d.same_type({&dotu::x, &dotu::y, &dotu::result}, complex_types);
}

void nrm2::describe(description<nrm2>& d) {
  d.about("The Euclidean norm √Σ|xᵢ|², without overflow or underflow on the way.", "BLAS xNRM2");
  describe_one(d);
  answer_types(d, classic_and_half_types, real_of);
}

void asum::describe(description<asum>& d) {
  d.about("The sum of magnitudes Σ|Re xᵢ| + |Im xᵢ|.", "BLAS xASUM");
  describe_one(d);
  answer_types(d, classic_types, real_of);
}

void iamax::describe(description<iamax>& d) {
  d.about(
      "The index, from 0, of the first element with the largest |Re xᵢ| + |Im xᵢ|; −1 for length "
      "0.",
      "BLAS IxAMAX");
  describe_one(d);
  answer_types(d, classic_types, index_type);
}

void iamin::describe(description<iamin>& d) {
  d.about(
      "The index, from 0, of the first element with the smallest |Re xᵢ| + |Im xᵢ|; −1 for length "
      "0.",
      "cuBLAS amin");
  describe_one(d);
  answer_types(d, classic_types, index_type);
}

}  // namespace troupe::blas

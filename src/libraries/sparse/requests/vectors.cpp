#include "libraries/sparse/requests/rules.hpp"

#include <troupe/sparse/vectors.hpp>

namespace troupe::sparse {
namespace {

template <class R>
void describe_elements(description<R>& d) {
  d.layouts(layout::vector, {&R::indices, &R::values, &R::y});
  d.same_type({&R::indices}, {dtype::i32, dtype::i64});
}

constexpr std::string_view indices_text = "where each element is in y";

}  // namespace

void spvv::describe(description<spvv>& d) {
  const extent nnz = d.size("nnz"), n = d.size("n");
  d.about("The inner product of a sparse and a dense vector: Σ op_x(xₖ) · y[indicesₖ].",
          "cuSPARSE cusparseSpVV");
  d.reads("indices", &spvv::indices, {nnz}, indices_text);
  d.reads("values", &spvv::values, {nnz}, "elements of x");
  d.reads("y", &spvv::y, {n}, "dense vector");
  d.writes("result", &spvv::result, {1}, "takes the answer instead of the reply").optional();
  d.value("op_x", &spvv::op_x, "applied to x's elements");
  describe_elements(d);
  d.same_type({&spvv::values, &spvv::y, &spvv::result}, value_types);
}

void axpby::describe(description<axpby>& d) {
  const extent nnz = d.size("nnz"), n = d.size("n");
  d.about("Adds a multiple of a sparse vector to one of a dense vector: y = alpha · x + beta · y.",
          "cuSPARSE cusparseAxpby");
  d.reads("indices", &axpby::indices, {nnz}, indices_text);
  d.reads("values", &axpby::values, {nnz}, "elements of x");
  d.value("alpha", &axpby::alpha, "factor of x");
  d.value("beta", &axpby::beta, "factor of the old y");
  d.updates("y", &axpby::y, {n}, "result").old_content_unless(d.zero(&axpby::beta));
  describe_elements(d);
  d.same_type({&axpby::values, &axpby::y}, value_types);
  d.factors({&axpby::alpha, &axpby::beta}, &axpby::y);
}

void gather::describe(description<gather>& d) {
  const extent nnz = d.size("nnz"), n = d.size("n");
  d.about("Takes elements of a dense vector: xₖ = y[indicesₖ].", "cuSPARSE cusparseGather");
  d.reads("indices", &gather::indices, {nnz}, indices_text);
  d.reads("y", &gather::y, {n}, "dense vector");
  d.writes("values", &gather::values, {nnz}, "elements of x");
  describe_elements(d);
  d.same_type({&gather::values, &gather::y}, value_types);
}

void scatter::describe(description<scatter>& d) {
  const extent nnz = d.size("nnz"), n = d.size("n");
  d.about("Puts elements into a dense vector: y[indicesₖ] = xₖ.", "cuSPARSE cusparseScatter");
  d.reads("indices", &scatter::indices, {nnz}, indices_text);
  d.reads("values", &scatter::values, {nnz}, "elements of x");
  d.updates("y", &scatter::y, {n}, "dense vector, whose other elements stay");
  describe_elements(d);
  d.same_type({&scatter::values, &scatter::y}, value_types);
}

void rot::describe(description<rot>& d) {
  const extent nnz = d.size("nnz"), n = d.size("n");
  d.about(
      "Applies a plane rotation to a sparse and a dense vector: xₖ, yᵢ = c · xₖ + s · yᵢ, c · yᵢ − "
      "s · xₖ.",
      "cuSPARSE cusparseRot");
  d.reads("indices", &rot::indices, {nnz}, indices_text);
  d.updates("values", &rot::values, {nnz}, "elements of x");
  d.updates("y", &rot::y, {n}, "dense vector, whose other elements stay");
  d.value("c", &rot::c, "cosine");
  d.value("s", &rot::s, "sine");
  describe_elements(d);
  d.same_type({&rot::values, &rot::y}, value_types);
  d.factors({&rot::c, &rot::s}, &rot::y);
}

}  // namespace troupe::sparse

#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover blas(
    "blas",
    {
        {"gemm gemm_strided_batched gemm_batched gemm_grouped",
         {f32, f64, c64, c128, f16, bf16, i8}},
        {"gemv_batched trsm_batched", {f32, f64, c64, c128}},
        {"getrf_batched getrs_batched getri_batched geqrf_batched", {f32, f64, c64, c128}},
        {"axpy axpby scal nrm2", {f32, f64, c64, c128, f16, bf16}},
        {"dot", {f32, f64, f16, bf16}},
        {"rotm rotmg ger spr spr2", {f32, f64}},
        {"copy swap rot rotg asum iamax iamin", {f32, f64, c64, c128}},
        {"gemv trmv trsv symv syr syr2", {f32, f64, c64, c128}},
        {"gbmv sbmv tbmv tbsv spmv tpmv tpsv", {f32, f64, c64, c128}},
        {"dsdot sdsdot", {f32}},
        {"geam dgmm symm syrk syr2k trmm trsm gemmt", {f32, f64, c64, c128}},
        {"dotc dotu geru gerc hemv her her2 hbmv hpmv hpr hpr2 hemm herk her2k", {c64, c128}},
    },
    "rotg rotmg");

}  // namespace
}  // namespace troupe::conformance

#pragma once

#include "request/vendor_limit.hpp"

#include <array>
#include <cstdint>

/// The cases that cuSOLVER is given.
namespace troupe::limits::cusolver {

inline constexpr vendor_limit polar{
    .name = "solver.polar",
    .library = "cuSOLVER",
    .from = "12.0",
    .condition = "Xgesvdp is not called; its driver is Jacobi",
    .evidence =
        "wrong for rank-deficient matrices, and for large and small numbers: 12.0, H100, "
        "2026-11-25",
    .test = "SolverSvd.Decomposes*:SolverSvd.LeavesOutWhatIsSmall",
    .can_be_lifted = false};
inline constexpr vendor_limit approximate{
    .name = "solver.approximate",
    .library = "cuSOLVER",
    .from = "12.0",
    .condition = "gesvda is not called; its driver is Jacobi",
    .evidence = "vectors are not orthonormal where values are small: 12.0, H100, 2026-11-25",
    .test = "SolverSvd.Decomposes*:SolverSvd.LeavesOutWhatIsSmall",
    .can_be_lifted = false};

inline constexpr vendor_limit batches_without_vectors{
    .name = "solver.batches_without_vectors",
    .library = "cuSOLVER",
    .from = "12.0",
    .condition = "gesvdjBatched computes vectors, wanted or not",
    .evidence = "without them it faults or gives wrong values: 12.0, H100, 2026-11-25",
    .test = "SolverSvd.Decomposes*"};
[[nodiscard]] inline bool accepts_batches_without_vectors() noexcept {
  return is_lifted<batches_without_vectors>();
}

inline constexpr vendor_limit range{
    .name = "solver.range",
    .library = "cuSOLVER",
    .from = "12.0",
    .condition = "numbers that Xgesvd is given have squares within the range of their type",
    .evidence = "it loses digits of small and large ones: 12.0, H100, 2026-11-25",
    .test = "SolverSvd.DecomposesSmallAndLargeNumbers",
    .can_be_lifted = false};

inline constexpr vendor_limit single_column{
    .name = "solver.single_column",
    .library = "cuSOLVER",
    .from = "12.0",
    .condition = "csrlsqvqrHost is given more than one column",
    .evidence = "it crashes with one: 12.0, H100, 2026-11-25",
    .test = "SolverSparse.QrFindsLeastSquares"};
[[nodiscard]] inline bool accepts_columns(std::int64_t columns) noexcept {
  return columns != 1 || is_lifted<single_column>();
}

inline constexpr vendor_limit refinement{
    .name = "solver.refinement",
    .library = "cuSOLVER",
    .from = "12.0",
    .condition = "a matrix whose refinement does not converge is factored by Xgetrf",
    .evidence =
        "the routine factors it too, but says nothing of a zero pivot: 12.0, H100, "
        "2026-11-25",
    .test = "SolverRefined.*",
    .can_be_lifted = false};

inline constexpr vendor_limit triangles{
    .name = "solver.triangles",
    .library = "cuSOLVER",
    .from = "12.0",
    .condition =
        "Xtrtri and potrfBatched of f32 work on copies, or what lies beside the triangle "
        "is stored again",
    .evidence = "they write there: 12.0, H100, 2026-11-25",
    .test = "SolverCholesky.PotrfFactors:SolverTriangular.TrtriInverts",
    .can_be_lifted = false};

inline constexpr vendor_limit pencils{
    .name = "solver.pencils",
    .library = "cuSOLVER",
    .from = "12.0",
    .condition = "eig_generalised is unsupported: there is no xGGEV",
    .evidence =
        "only definite pencils (sygvd) are there; eigenvalues of b⁻¹ · a are not those of a pencil "
        "with a singular b: 12.0, headers, 2026-11-27",
    .test = "SolverEig.FindsEigenvectorsOfPencils",
    .can_be_lifted = false};

inline constexpr std::array all{polar,     approximate,   batches_without_vectors,
                                range,     single_column, refinement,
                                triangles, pencils};

}  // namespace troupe::limits::cusolver
